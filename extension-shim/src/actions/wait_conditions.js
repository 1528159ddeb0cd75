// @ts-check
// The conditions of `wait_for`: each says whether a look at the page meets it, and names the state of the page if not.

/** @import {Context, Dialog, StopReason} from '../../types/protocol.js' */
/** @import {TabDocuments} from '../browser/page_world.js' */
/** @import {FoundElement, WantedTarget} from '../browser/targets.js' */

import { attach, openRequests } from '../browser/debugger.js';
import { DOWNLOAD_RECENT_MS, NETWORK_IDLE_MS } from '../browser/limits.js';
import { brokenDownload, downloadOf } from '../browser/downloads.js';
import { askDocuments, askFrames, documentsAsking, documentsOf, isOnly } from '../browser/page_world.js';
import { elementRefs, policy, tabDownloads } from '../browser/state.js';
import { parseTarget, queryInWords } from '../browser/target_query.js';
import { findTarget, findTargets, labelOf, nearestElements } from '../browser/targets.js';
import { urlMatcher } from '../browser/url_pattern.js';
import { checkedText } from '../commands/params.js';
import { clip } from '../lib/clip.js';
import { ActionError, messageOf, navigationInterrupted } from '../lib/errors.js';
import { execute_js } from './execute_js.js';
import { WAIT_TEXT_MAX, WAIT_URLS, WAIT_URL_SHOWN } from './limits.js';

/**
 * @typedef {object} PageLook the page as a wait sees it at one moment
 * @property {number} tabId
 * @property {TabDocuments} documents that agents may see
 * @property {(text: string) => boolean} shows whether a person sees a text in one of them
 * @property {DocumentReadyState} readyState of the page itself
 * @property {boolean} isArriving the tab is on its way to another page
 * @property {boolean} isLoading the browser shows the tab as loading
 * @property {boolean} isUnwatched a document has not loaded yet: it cannot be asked for its next change
 *
 * @typedef {object} WaitCondition
 * @property {string} words
 * @property {string} [text] that documents are to look for
 * @property {(tabId: number) => Promise<void>} [prepare]
 * @property {(look: PageLook) => Promise<Record<string, unknown> | null> | Record<string, unknown> | null} met what the answer says
 *   of it; null: not yet
 * @property {(look: PageLook) => Promise<string> | string} instead
 * @property {() => number} [dueIn] ms after which it may be met although nothing happens
 * @property {() => Promise<string>} [endRun] of a script: the time is up, and it may be running still; a note for the report
 */

const STATES = ['load', 'domcontentloaded', 'networkidle'];

/**
 * @typedef {object} MetDialogs
 * @property {Dialog[]} dialogs
 * @property {boolean} isAll those of scripts are among them; else each script meets its own
 */

/** @param {Record<string, any>} params @param {Context} context @param {MetDialogs} met while it waits @returns {WaitCondition[]} in the order of their cost */
export function conditionsOf({ text, textGone, target, gone, url, state, function: script, download }, context, met) {
  if (state !== undefined && !STATES.includes(state)) throw new ActionError('invalid_params', `state must be one of ${STATES.join(', ')}`);
  if (download !== undefined && typeof download !== 'boolean') throw new ActionError('invalid_params', 'download must be true or false');
  return [
    url === undefined ? null : atUrl(checkedText('url', url)),
    state === undefined ? null : state === 'networkidle' ? networkIdle() : loaded(state),
    text === undefined ? null : textShown(waitText('text', text)),
    textGone === undefined ? null : textHidden(waitText('textGone', textGone)),
    target === undefined ? null : elementShown(parseTarget(target), words(target)),
    gone === undefined ? null : elementGone(parseTarget(gone), words(gone)),
    download === true ? downloaded(context.clientId, context.seesAll) : null,
    script === undefined ? null : scriptTrue(checkedText('function', script), context, met),
  ].filter((condition) => condition !== null);
}

/** @param {string} name @param {unknown} text */
function waitText(name, text) {
  const given = checkedText(name, text);
  if (given.trim() !== '' && given.length <= WAIT_TEXT_MAX) return given;
  throw new ActionError('invalid_params', `${name} must be a text of 1 to ${WAIT_TEXT_MAX} characters`);
}

/** @param {unknown} text @returns {string} */
function words(text) {
  return JSON.stringify(clip(String(text), 80));
}

/** @param {string} text @returns {WaitCondition} */
function textShown(text) {
  return {
    words: `text ${words(text)}`, text, met: (look) => (look.shows(text) ? {} : null),
    async instead({ tabId, documents }) {
      const answers = await askDocuments(tabId, documents.seen, 'nearestLines', { text });
      const near = answers.flatMap(({ value }) => value).sort((a, b) => b.likeness - a.likeness).slice(0, 3);
      return near.length > 0 ? `nearest text: ${near.map(({ line }) => JSON.stringify(line)).join(', ')}` : 'no text like it is shown';
    },
  };
}

/** @param {string} text @returns {WaitCondition} */
function textHidden(text) {
  return { words: `text ${words(text)} to go`, text, met: (look) => (look.shows(text) ? null : {}), instead: () => `${words(text)} is still shown` };
}

/** @param {WantedTarget} wanted @param {string} said @returns {WaitCondition} */
function elementShown(wanted, said) {
  return {
    words: `element ${said}`,
    async met({ tabId, documents }) {
      const shown = (await elementsOf(tabId, documents, wanted)).find(({ isVisible }) => isVisible);
      return shown ? { target: labelOf(shown) } : null;
    },
    async instead({ tabId, documents }) {
      const [hidden] = await elementsOf(tabId, documents, wanted);
      if (hidden) return `${labelOf(hidden)} is there and not visible`;
      if ('ref' in wanted) return `${wanted.ref} was removed from the page`;
      const near = await nearestElements(tabId, wanted.query);
      return near.length > 0 ? `nearest: ${near.map(labelOf).join(', ')}` : `nothing fits ${queryInWords(wanted.query)}`;
    },
  };
}

/** @param {WantedTarget} wanted @param {string} said @returns {WaitCondition} */
function elementGone(wanted, said) {
  const shown = async (/** @type {PageLook} */ { tabId, documents }) => {
    try {
      return (await elementsOf(tabId, documents, wanted)).find(({ isVisible }) => isVisible);
    } catch (error) {
      if (error instanceof ActionError && error.code === 'stale_ref') return undefined;
      throw error;
    }
  };
  return {
    words: `element ${said} to go`, met: async (look) => (await shown(look) ? null : {}),
    async instead(look) {
      const still = await shown(look);
      return still ? `${labelOf(still)} is still there` : 'it has just gone';
    },
  };
}

/** @param {number} tabId @param {TabDocuments} documents @param {WantedTarget} wanted @returns {Promise<FoundElement[]>} none, if a ref's element is not in its document now */
async function elementsOf(tabId, documents, wanted) {
  if ('query' in wanted) return (await findTargets(tabId, wanted.query, 50, documents)).found;
  const { document, id } = await findTarget({ tabId, signal: new AbortController().signal }, wanted);
  const [answer] = await askFrames(tabId, [document], 'find', { query: { id }, most: 1 });
  const ref = answer && elementRefs.names(tabId, document.documentId, answer.value.count);
  return (answer?.value.matches ?? []).map((/** @type {any} */ match) => ({ ...match, document, ref: ref?.(match.id) }));
}

/** @param {string} pattern @returns {WaitCondition} */
function atUrl(pattern) {
  const matches = urlMatcher(pattern);
  return { words: `URL ${words(pattern)}`, met: ({ documents }) => (matches(documents.url) ? { url: documents.url } : null), instead: () => 'the tab has another URL' };
}

/** @param {string} state load or domcontentloaded @returns {WaitCondition} */
function loaded(state) {
  const isDone = (/** @type {PageLook} */ { readyState, isArriving, isLoading }) =>
    !isArriving && (state === 'load' ? readyState === 'complete' && !isLoading : readyState !== 'loading');
  return {
    words: `state ${state}`, met: (look) => (isDone(look) ? {} : null),
    instead: ({ isArriving, readyState }) => (isArriving ? 'the tab waits for the server of another page' : `the page is still loading (${readyState})`),
  };
}

/** @returns {WaitCondition} */
function networkIdle() {
  let quietMs = 0;
  return {
    words: 'state networkidle',
    async prepare(tabId) {
      await attach(tabId);
      await openRequests.count(tabId);
    },
    met({ tabId, readyState, isArriving }) {
      quietMs = openRequests.now(tabId)?.quietMs ?? 0;
      return quietMs >= NETWORK_IDLE_MS && readyState !== 'loading' && !isArriving ? {} : null;
    },
    dueIn: () => Math.max(NETWORK_IDLE_MS - quietMs, 0) + 1,
    instead({ tabId }) {
      const now = openRequests.now(tabId);
      if (!now) return 'the page sends more requests than can be counted';
      if (now.urls.length === 0) return `the last request ended ${Math.round(now.quietMs)} ms ago`;
      const shown = now.urls.filter((url) => !policy.blocksIn(tabId, url)).slice(0, WAIT_URLS).map((url) => clip(url, WAIT_URL_SHOWN));
      return `${now.urls.length} ${now.urls.length === 1 ? 'request is' : 'requests are'} pending${shown.length > 0 ? `: ${shown.join(', ')}` : ''}`;
    },
  };
}

/** @param {string} clientId that waits @param {boolean} seesAll tabs @returns {WaitCondition} */
function downloaded(clientId, seesAll) {
  const since = Date.now() - DOWNLOAD_RECENT_MS;
  const newest = (/** @type {PageLook} */ { tabId, documents }) => tabDownloads.newest(tabId, documents.url, since, seesAll);
  return {
    words: 'a download',
    async met(look) {
      const item = await newest(look);
      if (!item || item.state === 'in_progress') return null;
      tabDownloads.tell(item.id, clientId, seesAll);
      if (item.state === 'interrupted') throw brokenDownload(item);
      return { download: { ...downloadOf({ ...item, totalBytes: item.fileSize }), path: item.filename } };
    },
    async instead(look) {
      const item = await newest(look);
      return item ? `${downloadOf(item).file_name} has ${item.bytesReceived} bytes so far` : 'the tab has begun no download';
    },
  };
}

/** @param {string} script @param {Context} context @param {MetDialogs} meeting @returns {WaitCondition} */
function scriptTrue(script, context, meeting) {
  // A text with statements is none: then it is run as execute_js runs it, and tells by its value.
  // It stands where no name of ours is known: one would hide the page's own.
  const asExpression = `(async()=>(async(asked)=>{const said=await(typeof asked==='function'?asked():asked);return said?[said]:[]})((${script}\n)))()`;
  let isExpression = true;
  let last = 'it has not run';
  /** Of the script that runs now: between two runs there is nothing to clean up. @type {((why: StopReason) => Promise<string>) | null} */
  let cleanUp = null;
  /** @type {Promise<string> | null} */
  let ending = null;
  const end = (/** @type {StopReason} */ why) => ending ??= cleanUp ? cleanUp(why) : Promise.resolve('');
  context.onStop(end);
  const inner = { ...context, onStop: (/** @type {NonNullable<typeof cleanUp>} */ next) => { cleanUp = next; } };
  return {
    words: `function ${words(script)}`,
    async met() {
      last = 'it has not come to an end';
      try {
        const outcome = await execute_js({ script: isExpression ? asExpression : script }, { ...inner, hasDialogsMet: meeting.isAll });
        meeting.dialogs.push(...outcome.dialogs ?? []);
        const said = isExpression ? /** @type {unknown[]} */ (outcome.value) : [outcome.value];
        last = `it gave ${clip(JSON.stringify(said[0] ?? null), 80)}`;
        return said[0] ? (said[0] === true ? {} : { value: said[0] }) : null;
      } catch (error) {
        if (!(error instanceof ActionError) || !['script_threw', 'syntax_error'].includes(error.code)) throw error;
        if (error.code === 'syntax_error' && !isExpression) throw error;
        if (error.code === 'syntax_error') isExpression = false;
        last = `it threw ${messageOf(error)}`;
        return null;
      } finally {
        cleanUp = null;
      }
    },
    dueIn: () => 50,
    endRun: () => end('timeout'),
    instead: () => last,
  };
}

/** @typedef {{documentId: string, value: any}} ToldLook a document's answer to the question of a look, which it has just given */

/** @param {WaitCondition[]} conditions @returns {string[]} that documents are to look for */
export function textsOf(conditions) {
  return conditions.flatMap(({ text }) => (text === undefined ? [] : [text]));
}

/**
 * The page as it is now. Refused if its site is.
 * @param {number} tabId @param {WaitCondition[]} conditions @param {ToldLook | null} told counts if the document is the only one
 * @returns {Promise<{look: PageLook, changes: Map<string, number>}>} `changes`: as of the page world, by document that has loaded
 */
export async function takeLook(tabId, conditions, told) {
  const texts = textsOf(conditions);
  const question = { name: 'look', argument: { texts } };
  const asked = told ? documentsHaving(tabId, told) : documentsAsking(tabId, question);
  const [tab, { documents, answer }] = await Promise.all([chrome.tabs.get(tabId), asked]);
  const answers = answer ? [{ document: documents.seen[0], value: answer.value }] : await askDocuments(tabId, documents.seen, question.name, question.argument);
  // A document that is on its way out answers nothing.
  if (answers[0]?.document.frameId !== 0) throw navigationInterrupted();
  const shows = (/** @type {string} */ text) => answers.some(({ value }) => value.shown[texts.indexOf(text)]);
  // A question that a document is slow to answer holds back its load event.
  const loaded = answers.filter(({ value }) => value.readyState === 'complete');
  const look = {
    tabId, documents, shows, readyState: answers[0].value.readyState, isArriving: Boolean(tab.pendingUrl), isLoading: tab.status !== 'complete',
    isUnwatched: loaded.length < answers.length,
  };
  return { look, changes: new Map(loaded.map(({ document, value }) => [document.documentId, value.changes])) };
}

/** @param {number} tabId @param {ToldLook} told @returns {ReturnType<typeof documentsAsking>} */
async function documentsHaving(tabId, { documentId, value }) {
  const documents = await documentsOf(tabId);
  return { documents, ...(isOnly(documents, documentId) && { answer: { value } }) };
}
