// @ts-check
// The texts of the popup for each state. Pure.

/** @import {ChangedRow, ShownRow, HeldRow, OpenedRow, PanelState, RecordingRow, TakenControl} from '../src/worker/panel.js' */
/** @import {FarOwner, KeptWord, OlderExtensionsFrame, PastAct, SiteChange, SiteList, RecordedStream, TenantTrouble, UnconfirmedWidening} from '../types/protocol.js' */
/** @import {OpenFolders} from '../src/policy/local_files.js' */
/** @import {SiteRules} from '../src/policy/sites.js' */
/** @import {Status} from '../src/connection/link.js' */

import { purposeOf } from '../src/lib/consent.js';
import { countRequests } from '../src/draw/open_drawings.js';
import { blockOf, parsePattern } from '../src/policy/sites.js';

const UPDATE = 'This extension is newer than the Tabwire that runs. Run `tabwire update` in a terminal, which names the command that brings a newer one, then `tabwire stop`: the next call of an agent starts it.';

/** @type {Record<Status, {headline: string, next: string}>} `next` may have `code` in backquotes */
const WORDS = {
  connected: { headline: 'Connected', next: '' },
  connecting: { headline: 'Connecting…', next: '' },
  disconnected: { headline: 'Not connected', next: 'The daemon does not run. It starts with the first call of an agent, or with `tabwire serve`.' },
  unpaired: { headline: 'Not paired', next: 'Run `tabwire install` in a terminal. If that does not help, pair by hand below.' },
  refused: { headline: 'Key refused', next: 'Tabwire has another key now. Run `tabwire install` in a terminal, or pair by hand below.' },
  unproven: { headline: 'Another program is there', next: 'Another program, or the Tabwire of another person, uses its port. `tabwire doctor` explains how to go on.' },
  old_daemon: { headline: 'Tabwire is older', next: UPDATE },
  old_extension: { headline: 'Extension is older', next: 'Tabwire is newer than this extension. Run `tabwire install` in a terminal, then reload the extension at chrome://extensions.' },
  changed: { headline: 'Extension was changed', next: 'Its files differ from those that Tabwire wrote, so agents can do nothing here. Run `tabwire install` in a terminal, then reload Tabwire at chrome://extensions.' },
  replaced: { headline: 'Replaced', next: 'Another connection of this browser took over. Trying again soon.' },
};

/** The browser gives these for every failed connection: they explain nothing. */
const MEANINGLESS = ['closed with 1006', 'TypeError: Failed to fetch'];

/** @param {PanelState} state */
export function headline({ status }) {
  return WORDS[status].headline;
}

/** @param {PanelState} state @returns {string} the daemon that it is connected to, or the reason and the remedy */
export function detail({ status, detail: reason, extension_newer }) {
  const next = status === 'connected' && extension_newer ? UPDATE : WORDS[status].next;
  if (reason === '' || MEANINGLESS.includes(reason)) return next;
  return next ? `${next} (${reason})` : reason;
}

/** @param {PanelState} state @returns {string} how far pairing without the person is; '' if there is nothing to show */
export function pairingNote({ pairing: { is_asking, trouble }, ...state }) {
  if (!needsKey(state)) return '';
  return is_asking ? 'Asking Tabwire on this computer for the key…' : trouble;
}

/** @param {Pick<PanelState, 'status'>} state */
export function needsKey({ status }) {
  return status === 'unpaired' || status === 'refused';
}

/** @param {PanelState} state */
export function versions({ extension_version, daemon_version, status }) {
  const isThere = status === 'connected' && daemon_version;
  return isThere ? `extension ${extension_version} · daemon ${daemon_version}` : `extension ${extension_version}`;
}

/** @type {Record<RecordedStream, string>} */
const RECORDED = {
  logs: 'console', network: 'requests', bodies: 'request and response bodies', websocket: 'WebSockets',
  actions: 'your clicks and input', performance: 'loading times',
};

/** @param {RecordingRow} row @returns {string} the recorded streams of its tab */
export function recorded({ streams }) {
  return streams.map((stream) => RECORDED[stream]).join(', ');
}

/** @param {Pick<PanelState, 'recording' | 'recording_ended'>} state @returns {string} '' if nothing is recorded */
export function recordingText({ recording, recording_ended }) {
  if (recording_ended) return 'You stopped all recording in this browser';
  return recording.length > 0 ? 'Recording for an agent' : '';
}

/** @param {number} count of open questions @returns {string} */
export function asksText(count) {
  return count === 1 ? 'An agent asks you' : `Agents ask you (${count})`;
}

/** @param {Pick<PanelState, 'drawings'>['drawings']} drawings @returns {string} */
export function drawingsText(drawings) {
  const count = countRequests(drawings);
  return count === 1 ? 'An agent asks you to draw' : `Agents ask you to draw (${count})`;
}

/**
 * The control that the person took from agents by closing the bar.
 * @param {TakenControl} taken @param {number | undefined} here the tab that the person sees
 */
export function takenText({ tabs, scripts_run }, here) {
  const others = tabs.filter(({ tab_id }) => tab_id !== here);
  const isHere = others.length < tabs.length;
  const counted = (/** @type {number} */ count) => `${count} ${isHere ? 'other ' : ''}${count === 1 ? 'tab' : 'tabs'}`;
  const named = [...(isHere ? ['this tab'] : []), ...(others.length > 0 ? [counted(others.length)] : [])].join(' and ');
  const scripts = scripts_run && named ? ' Scripts of agents still run there, since “Allow User Scripts” is on.' : '';
  return {
    others: others.map(({ tab_title }) => tab_title),
    headline: named ? `You took control of ${named}` : 'You took control',
    detail: `You closed the debugging bar: ${named ? `agents cannot use ${tabs.length === 1 ? 'the tab' : 'the tabs'}, and ` : ''}nothing is recorded.${scripts}`,
  };
}

/**
 * The site of the tab that the person sees, for the button that keeps agents out.
 * @param {SiteRules | null} rules @param {string} url of the tab @returns {{site: string, isKeptOut: boolean} | null} null: it has no site
 */
export function siteHere(rules, url) {
  const site = siteOfAddress(url);
  if (!/^https?:/i.test(url) || site === null) return null;
  return { site, isKeptOut: rules !== null && blockOf(rules, url) !== null };
}

/** @param {{site: string, isKeptOut: boolean}} here */
export function siteHereText({ site, isKeptOut }) {
  return isKeptOut ? `Agents are kept out of ${site}` : site;
}

/** @param {number} startedAt @param {number} now @returns {string} for example "3 s" or "2 min 5 s" */
export function since(startedAt, now) {
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 3_600) return `${Math.floor(seconds / 3_600)} h ${Math.floor(seconds % 3_600 / 60)} min`;
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** @param {HeldRow} held @returns {string} who holds the tab, and why; the name is the agent's own words */
export function heldLine({ client, opened }) {
  return opened ? `${client || 'An agent'} opened it` : `${client || 'An agent'} acts in it`;
}

/** @param {OpenedRow} opened @param {{now: number, keeps_tabs: boolean}} state @returns {string} whose it is, and when it closes */
export function openedLine({ client, closes_at }, { now, keeps_tabs }) {
  const who = `${client || 'An agent'} opened it`;
  if (keeps_tabs || closes_at === undefined) return who;
  const minutes = Math.ceil((Date.parse(closes_at) - now) / 60_000);
  return minutes > 0 ? `${who} and has ended; it closes in ${minutes} min` : `${who} and has ended; it closes when you look elsewhere`;
}

/**
 * @param {PastAct} act @param {number} now @param {string} here what this browser is called: of another one the name is told
 * @returns {{did: string, where: string}} `where` is of an agent and a page: text, never HTML
 */
export function pastActLine({ at, client, browser, action, site, ended, reason }, now, here) {
  const end = ended === 'complete' ? '' : `: ${reason ?? ended}`;
  return { did: `${action}${end}`, where: [client || 'An agent', browser === here ? '' : browser, site, `${since(Date.parse(at), now)} ago`].filter(Boolean).join(' · ') };
}

/** How long a word holds, before what it is on. @type {Record<KeptWord['word'], string>} */
const TERMS = { session: 'This session', always: 'Always', never: 'Never' };

/** @param {KeptWord} word @param {number} now @returns {{says: string, whose: string}} both are of an agent and a page: text, never HTML */
export function keptWordLine({ word, kind, site, client, owner, at }, now) {
  // The owner of a person with one alone says nothing to them.
  // An owner's id is its name, and behind a `~` which owner of this name it is.
  const of = owner === 'user' ? '' : `owner ${nameOf(owner)}`;
  const age = since(Date.parse(at), now);
  return { says: `${TERMS[word]}: ${purposeOf({ kind, site })}`, whose: [client || 'An agent', of, `${age} ago`].filter(Boolean).join(' · ') };
}

/** @param {string} owner its name, and behind a tilde its generation */
function nameOf(owner) {
  return owner.split('~')[0];
}

/** @param {FarOwner} far @returns {{says: string, note: string, button: string}} `note`: the person's own words for the machine */
export function farLine({ owner, label = '', calls, suspended }) {
  const goesOn = suspended ? 'disconnected' : `${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const [agent, tenant] = nameOf(owner).split('@');
  const says = tenant ? `${tenant}: ${agent}, ${goesOn}` : `agents on ${agent}: ${goesOn}`;
  return { says, note: label, button: suspended ? 'Let in again' : 'Disconnect' };
}

/** @param {TenantTrouble} trouble @returns {{says: string, next: string}} `next`: may have `code` */
export function troubleLine({ tenant, says, do: next }) {
  return { says: `${tenant}: ${says}`, next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.` };
}

/** @param {number} count @returns {string} */
export function wordsSummary(count) {
  return `Your words to agents: ${count}`;
}

/** @param {number} more how many older words there are @returns {string} may have `code` */
export function moreWords(more) {
  return more > 0 ? `${more} older ${more === 1 ? 'word is' : 'words are'} not shown. Take newer ones back here, or run \`tabwire asks\`.` : '';
}

/** @param {Pick<ShownRow, 'steps' | 'until'>} shown @param {number} now @returns {string} */
export function shownSoFar({ steps, until }, now) {
  return `${steps} ${steps === 1 ? 'step' : 'steps'}, ends by itself in ${Math.max(1, Math.ceil((until - now) / 60_000))} min`;
}

/** @param {Pick<ChangedRow, 'client' | 'emulation' | 'rules' | 'permissions'>} changed @returns {string} who has changed the tab, and how; the name is the agent's own words */
export function changedLine({ client, emulation, rules, permissions }) {
  const parts = Object.entries(emulation).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value === true ? 'on' : value === false ? 'off' : value}`);
  const does = [...(parts.length > 0 ? [`emulates ${parts.join(', ')}`] : []), ...ruleParts(rules), ...permissionParts(permissions)];
  return `${client || 'An agent'} ${does.join(' and ')}`;
}

/** @param {ChangedRow['permissions']} permissions @returns {string[]} */
function permissionParts(permissions) {
  if (!permissions) return [];
  const words = Object.entries(permissions.words).map(([name, word]) => `${name.replaceAll('_', ' ')} ${word}`);
  return [`sets permissions of ${permissions.site}: ${words.join(', ')}`];
}

/** @param {ChangedRow['rules']} rules @returns {string[]} */
function ruleParts(rules) {
  const named = (/** @type {'block' | 'answer' | 'headers'} */ deed, /** @type {string} */ does) => {
    const urls = rules.filter((rule) => deed in rule.deed).map(({ url }) => url);
    return urls.length > 0 ? [`${does} ${urls.join(', ')}`] : [];
  };
  return [...named('block', 'blocks requests to'), ...named('answer', 'answers requests to'), ...named('headers', 'changes headers of requests to')];
}

/** @param {OlderExtensionsFrame['asking'][number]} older */
export function askingLine({ extension_version, was_let_in }) {
  const asks = was_let_in ? 'was let in until Tabwire connected, and asks again' : 'asks to be let in';
  return `version ${extension_version}, ${asks}`;
}

/** @param {OlderExtensionsFrame['let_in'][number]} older */
export function letInLine({ connected }) {
  return connected ? 'is let in, and is here beside Tabwire; agents that name no browser use Tabwire' : 'is let in';
}

/** @param {UnconfirmedWidening} widening @returns {string} its effect, as a sentence */
export function widened({ what }) {
  return `Let ${what}.`;
}

/** @param {UnconfirmedWidening} widening @returns {string} when it was made, and how to take it back; may have `code` in backquotes */
export function widenedHow({ at, take_back }) {
  const when = new Date(at).toLocaleString();
  // A backquote would end the code early.
  const back = take_back?.replaceAll('`', '\'');
  return `${when}, with \`--unattended\`.${back ? ` To take it back: \`${back}\`` : ''}`;
}

/** @param {SiteRules | null} rules null: not known yet @returns {string} */
export function sitesSummary(rules) {
  if (!rules) return 'Sites: not known yet';
  const { allow, deny, agent_deny = [], read = [], deny_actions = [], ask = [] } = rules;
  const [denied, bounded] = [deny.length + agent_deny.length, read.length + deny_actions.length + ask.length];
  const asked = rules.default === 'ask' ? ', agents ask before they act' : '';
  const acts = `${bounded > 0 ? `, ${bounded} with limits` : ''}${asked}`;
  if (allow.length > 0) return `Sites: only ${allow.length} allowed${denied > 0 ? `, ${denied} denied` : ''}${acts}`;
  return `${denied > 0 ? `Sites: all but ${denied}` : 'Sites: all'}${acts}`;
}

/** The rule for sites that no other rule is about. */
export const ASKS_ELSEWHERE = 'ask before agents act on any other site';

/** @param {SiteList} list @param {string} pattern @returns {string} */
export function siteRule(list, pattern) {
  if (list === 'read') return `only read ${pattern}`;
  if (list === 'ask') return `ask before agents act on ${pattern}`;
  return list === 'agent_deny' ? `deny ${pattern} (an agent)` : `${list} ${pattern}`;
}

/** @param {OpenFolders | null} files null: not known yet @returns {string} the text beside the list; may have `code` */
export function filesSummary(files) {
  if (!files || files.folders.length > 0) return '';
  return 'Agents may open no local files. `tabwire sites files allow DIR` opens a folder.';
}

/**
 * The change to request: of a copied address its host; a name in other letters as the browser sends it.
 * @param {string} list @param {string} given @returns {{change?: SiteChange, wrong: string}}
 */
export function siteChange(list, given) {
  const pattern = siteOfAddress(given.trim()) ?? asSent(given.trim());
  if (!parsePattern(pattern)) return { wrong: 'Write a host such as example.com, *.example.com or https://example.com:8443, or file:' };
  return { change: { change: 'add', list: list === 'allow' || list === 'read' || list === 'ask' ? list : 'deny', pattern }, wrong: '' };
}

/** An address with a path. A user's name before the host is no part of the site. */
const ADDRESS = /^(?:https?:\/\/(?:[^/?#@]*@)?[^/?#@]+[/?#]|[^/?#@:]+(?::[0-9]+)?[/?#])/i;

/** @param {string} text @returns {string | null} the host, with its port if that is none of the usual; null: it is no address with a path */
function siteOfAddress(text) {
  if (!ADDRESS.test(text)) return null;
  const url = /^https?:/i.test(text) ? text : `http://${text}`;
  return URL.canParse(url) ? new URL(url).host : null;
}

/** @param {string} pattern */
function asSent(pattern) {
  const [, head, host, tail] = /^((?:https?:\/\/)?(?:\*\.)?)([^/:]+)(.*)$/i.exec(pattern) ?? [];
  const url = `http://${host}/`;
  return host !== undefined && /[^\0-\x7f]/.test(host) && URL.canParse(url) ? head + new URL(url).hostname + tail : pattern;
}

/**
 * Whether the tab that the person sees can be shared with agents who do not see every tab, and the words for that.
 * @param {Pick<PanelState, 'shared' | 'opened' | 'held'>} state @param {{id?: number, url?: string} | undefined} here
 */
export function sharing({ shared, opened, held }, here) {
  const isShared = shared.some((tabId) => tabId === here?.id);
  const isAgents = opened.some(({ tab_id }) => tab_id === here?.id) || held.some((one) => one.opened && one.tab_id === here?.id);
  const isOffered = isShared || (here?.id !== undefined && /^https?:/.test(here.url ?? '') && !isAgents);
  return {
    isOffered,
    isShared,
    button: isShared ? 'Take this tab back' : 'Share this tab with agents',
    text: isShared ? 'Agents that see only tabs shared with them see this one, until you take it back, it goes to another site or is closed.' : '',
  };
}

/** @param {string} path of any system @returns {{folder: string, name: string}} */
export function partsOf(path) {
  const at = path.lastIndexOf(/^[A-Za-z]:\\/.test(path) ? '\\' : '/');
  const folder = path.slice(0, at);
  // The folder of a drive itself, and of the whole system, has a name with a separator.
  return { folder: folder === '' || /^[A-Za-z]:$/.test(folder) ? path.slice(0, at + 1) : folder, name: path.slice(at + 1) };
}
