// @ts-check
// Recordings of what the person does in a tab, because an agent has asked for one and the person has allowed it. They
// are for one tab on one site. What an event says is told by our own script in the document; whether it counts is
// decided here. A worker that is killed ends them: nobody says then whose input it was.

/** @import {Policy} from '../policy/policy.js' */
/** @import {SeenDocument} from './page_world.js' */
/** @import {StepRecording, StepRecordings} from './step_recordings.js' */

import { STEPS_MAX } from '../commands/limits.js';
import { checkedAct, PersonSteps } from '../commands/person_acts.js';
import { SECRET_TABLE, Secrets } from '../injected/secrets.js';
import { ActionError } from '../lib/errors.js';
import { once } from '../lib/once.js';
import { within } from '../lib/within.js';
import { siteName } from '../policy/sites.js';
import { FRAME_ANSWER_MS, SHOWING_MS } from './limits.js';
import { askFrames, documentsOf, INPUT_LISTENERS, listenForInput } from './page_world.js';
import { policy, stepRecordings, tabDownloads, tabs } from './state.js';
import { parseTarget } from './target_query.js';

/** For the browser's list of scripts. */
const SCRIPT = 'person_input';
/** The person has named the page themselves. */
const NAMED = new Set(['typed', 'generated', 'auto_bookmark', 'keyword', 'keyword_generated', 'start_page']);

const secrets = new Secrets(SECRET_TABLE);

/**
 * @typedef {StepRecording & {person: NonNullable<StepRecording['person']>}} OpenRecording of the person's acts
 * @typedef {{tab_id: number, client: string, site: string, steps: number, until: number}} PersonRecordingRow for the popup
 * @typedef {{tabId: number, frameId: number, url: string, transitionType?: string, transitionQualifiers?: string[]}} CommittedPage
 */

export class PersonRecordings {
  #recordings;
  #policy;
  #isActing;
  #known;
  /** Documents that were told to watch, by tab. @type {Map<number, Set<string>>} */
  #watched = new Map();
  /** The acts of a tab are added one after the other. @type {Map<number, Promise<void>>} */
  #work = new Map();
  /** @type {Map<number, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  /** @type {Promise<void>} */
  #listening = Promise.resolve();
  /** Tabs to mark. @type {(rows: PersonRecordingRow[]) => void} */
  onChange = () => {};

  /**
   * @param {StepRecordings} recordings @param {Policy} rules @param {(tabId: number) => boolean} isActing whether an agent acts in a tab
   * @param {(tabId: number) => chrome.tabs.Tab | undefined} known a tab, as the events have it
   */
  constructor(recordings, rules, isActing, known) {
    this.#recordings = recordings;
    this.#policy = rules;
    this.#isActing = isActing;
    this.#known = known;
  }

  /** Ends those of an earlier worker. */
  restore = once(async () => {
    await this.#recordings.restore();
    const open = this.rows();
    for (const { tab_id } of open) await this.end(tab_id, 'the extension was started anew');
    if (open.length === 0) await this.#listen();
  });

  /** @param {number} tabId @returns {OpenRecording | undefined} one that has not ended */
  #live(tabId) {
    const recording = this.#recordings.of(tabId);
    return recording?.person && recording.person.ended === undefined ? /** @type {OpenRecording} */ (recording) : undefined;
  }

  /** @returns {PersonRecordingRow[]} */
  rows() {
    return this.#recordings.all.flatMap(([tab_id, { person, steps }]) => (
      person && person.ended === undefined ? [{ tab_id, client: person.name, site: person.site, steps: steps.length, until: person.until }] : []
    ));
  }

  /** The person has allowed it. @param {number} tabId @param {{client: string, name: string, url: string}} by */
  async start(tabId, { client, name, url }) {
    await this.discard(tabId);
    const person = { name, site: siteName(url), until: Date.now() + SHOWING_MS };
    this.#recordings.open(tabId, { client, steps: [{ action: 'navigate', url }], params: [], left_out: [], person });
    this.#timers.set(tabId, setTimeout(() => this.end(tabId, `it lasts ${SHOWING_MS / 60_000} minutes at most`), SHOWING_MS));
    this.onChange(this.rows());
    await this.#listen();
    await this.#watch(tabId);
  }

  /** Resolves when all acts that have come are steps. @param {number} tabId */
  async settled(tabId) {
    await this.#work.get(tabId);
  }

  /** What has become steps stays for its client. @param {number} tabId @param {string} why */
  async end(tabId, why) {
    const recording = this.#live(tabId);
    if (!recording) return;
    recording.person.ended = why;
    this.#recordings.keep();
    await this.#rest(tabId);
  }

  /** The person does not want the agent to get it. @param {number} tabId */
  async discard(tabId) {
    if (!this.#live(tabId)) return;
    this.#recordings.close(tabId);
    await this.#rest(tabId);
  }

  /** @param {number} tabId */
  async #rest(tabId) {
    clearTimeout(this.#timers.get(tabId));
    this.#timers.delete(tabId);
    const watched = this.#watched.get(tabId) ?? new Set();
    this.#watched.delete(tabId);
    this.onChange(this.rows());
    await this.#listen();
    // A document that is not told is told when it has its next act.
    const { seen } = await documentsOf(tabId).catch(() => ({ seen: /** @type {SeenDocument[]} */ ([]) }));
    await askFrames(tabId, seen.filter(({ documentId }) => watched.has(documentId)), 'unwatchPerson').catch(console.debug);
  }

  /** Documents that are loaded meanwhile listen from their start. One change of the list after the other. */
  #listen() {
    this.#listening = this.#listening.then(async () => {
      const known = await chrome.scripting.getRegisteredContentScripts({ ids: [SCRIPT] });
      const isWanted = this.rows().length > 0;
      if (isWanted === known.length > 0) return;
      if (!isWanted) return chrome.scripting.unregisterContentScripts({ ids: [SCRIPT] });
      const matches = ['http://*/*', 'https://*/*'];
      await chrome.scripting.registerContentScripts([{ id: SCRIPT, js: [INPUT_LISTENERS], matches, allFrames: true, matchOriginAsFallback: true, runAt: 'document_start', persistAcrossSessions: false }]);
    }).catch(console.warn);
    return this.#listening;
  }

  /** Has all documents of a tab tell of the person's input. @param {number} tabId */
  async #watch(tabId) {
    const watched = this.#watched.get(tabId) ?? new Set();
    this.#watched.set(tabId, watched);
    const { seen } = await documentsOf(tabId);
    const fresh = seen.filter(({ documentId, url }) => !watched.has(documentId) && /^(?:https?|about|blob):/.test(url));
    // Before they are asked: one may answer by its first act.
    for (const { documentId } of fresh) watched.add(documentId);
    for (const document of fresh) await within(FRAME_ANSWER_MS, listenForInput(tabId, [document])).catch(console.debug);
    await askFrames(tabId, fresh, 'watchPerson');
  }

  /**
   * A document tells of input. @param {any} message @param {chrome.runtime.MessageSender} sender
   * @returns {{isOver: boolean} | undefined} whether it is to stop; undefined: not for this part
   */
  handleMessage(message, { tab, url = '', origin, documentId = '' }) {
    if (message?.person_act === undefined) return undefined;
    const tabId = tab?.id ?? -1;
    if (!this.#live(tabId) || !this.#watched.get(tabId)?.has(documentId)) return { isOver: true };
    const told = checkedAct(message.person_act);
    if (!told || this.#policy.blocksPage(url, origin ?? null) || this.#endIfClosed(tabId, tab?.url ?? '')) return { isOver: true };
    // An agent's input is the browser's own as well.
    if (!this.#isActing(tabId)) this.#add(tabId, async (steps) => {
      const { act, names, isPage, ...element } = told;
      const target = isPage ? null : await this.#only(tabId, documentId, names);
      steps.add(act, { ...element, target, isPage });
    });
    return { isOver: false };
  }

  /** @param {number} tabId @param {(steps: PersonSteps) => Promise<void> | void} add */
  #add(tabId, add) {
    const recording = this.#live(tabId);
    if (!recording) return;
    const added = (this.#work.get(tabId) ?? Promise.resolve()).then(async () => {
      // It may have ended, or another one begun, meanwhile.
      if (this.#live(tabId) !== recording) return;
      await add(new PersonSteps(recording, (text) => secrets.isCardNumber(text)));
      this.#recordings.keep();
      if (recording.steps.length >= STEPS_MAX) await this.end(tabId, `a recording has ${STEPS_MAX} steps at most`);
    }).catch(console.warn);
    this.#work.set(tabId, added);
  }

  /** The first name that fits nothing in the other documents of the tab. @param {number} tabId @param {string} documentId @param {string[]} names */
  async #only(tabId, documentId, names) {
    const { seen } = await documentsOf(tabId).catch(() => ({ seen: /** @type {SeenDocument[]} */ ([]) }));
    // The act may have led elsewhere: then the others cannot be asked any more.
    const isThere = seen.some((one) => one.documentId === documentId);
    const others = isThere ? seen.filter((one) => one.documentId !== documentId) : [];
    for (const name of names) {
      const found = others.length === 0 ? [] : await askFrames(tabId, others, 'find', { query: /** @type {any} */ (parseTarget(name)).query, most: 1 });
      if (found.every(({ value }) => value.total === 0)) return name;
    }
    return null;
  }

  /** @param {CommittedPage} details of a page or frame */
  handleCommitted({ tabId, frameId, url, transitionType = '', transitionQualifiers = [] }) {
    if (!this.#live(tabId)) return;
    if (frameId === 0) {
      this.#watched.delete(tabId);
      if (this.#endIfClosed(tabId, url)) return;
      const isNamed = NAMED.has(transitionType) || transitionQualifiers.some((one) => one === 'from_address_bar' || one === 'forward_back');
      const isOwn = !this.#isActing(tabId);
      this.#add(tabId, (steps) => {
        if (isOwn && transitionType === 'reload') steps.reload();
        else if (isOwn && isNamed) steps.open(url);
        else steps.expect(url);
      });
    }
    this.handleDocument(tabId);
  }

  /** A document of a tab can be asked. @param {number} tabId */
  handleDocument(tabId) {
    if (!this.#live(tabId)) return;
    // A new page takes the mark of its tab away.
    this.onChange(this.rows());
    this.#watch(tabId).catch(console.debug);
  }

  /** The page in a tab has opened another one. @param {number} tabId */
  handleOpened(tabId) {
    this.#add(tabId, (steps) => steps.leaveOut('what is done in the new tab'));
  }

  /** The person may have set other limits, or begun a step alone. */
  handleRules() {
    for (const { tab_id } of this.rows()) {
      if (this.#policy.isStopped) this.discard(tab_id).catch(console.warn);
      else this.#endIfClosed(tab_id, this.#known(tab_id)?.url ?? '');
    }
  }

  /** @param {number} added @param {number} removed the same tab, whose page the browser has unloaded */
  handleReplaced(added, removed) {
    if (!this.#live(removed)) return;
    this.end(removed, 'the browser unloaded the page').catch(console.warn);
    this.#recordings.handleReplaced(added, removed);
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    if (!this.#live(tabId)) return;
    this.#recordings.close(tabId);
    this.#rest(tabId).catch(console.debug);
    this.#work.delete(tabId);
  }

  /** @param {number} tabId @param {string} url of the page in it @returns {boolean} whether nothing may be recorded there */
  #endIfClosed(tabId, url) {
    const recording = this.#live(tabId);
    if (!recording) return true;
    const why = this.#closed(tabId, url, recording.person);
    if (why === null) return false;
    this.end(tabId, why).catch(console.warn);
    return true;
  }

  /** @param {number} tabId @param {string} url @param {OpenRecording['person']} person @returns {string | null} */
  #closed(tabId, url, { site, until }) {
    if (Date.now() >= until) return `it lasts ${SHOWING_MS / 60_000} minutes at most`;
    if (siteName(url) !== site) return `the tab left ${site}`;
    if (this.#policy.handed.hasTab(tabId) || this.#policy.handed.covers(url)) return 'the user does a step alone on this site';
    try {
      this.#policy.assertUrl(url);
      this.#policy.assertActRules({ type: 'record', params: {} }, url);
      return null;
    } catch (error) {
      return error instanceof ActionError ? error.message : String(error);
    }
  }
}

export const personRecordings = new PersonRecordings(stepRecordings, policy, (tabId) => tabDownloads.isActing(tabId), (tabId) => tabs.known(tabId));
