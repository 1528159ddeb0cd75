// @ts-check
// Records the streams that the daemon asked for, in the tabs that it asked for, and nothing else. Off until then.

/** @import {CaptureSettings, RecordedTab, RecordedStream} from '../../types/protocol.js' */
/** @import {Mark, Outlet} from './tab_recording.js' */
/** @import {Settings} from './settings.js' */
/** @import {Policy} from '../policy/policy.js' */

import { isAnyDismissed, letGo, restoreDismissed } from '../browser/debugger.js';
import { once } from '../lib/once.js';
import { isAfterReload, sessionItems } from '../lib/session_items.js';
import { isReachable } from '../policy/pages.js';
import { Batches } from './batches.js';
import { BUFFER_MAX_ENTRIES, RECORD_ALONE_MS, RECORD_FIRST_MS } from './limits.js';
import { NOTHING, readSettings, STREAMS, streamsOf, writeSettings } from './settings.js';
import { TabRecording } from './tab_recording.js';

const KEY = 'capture';
const MARK_PREFIX = 'recorded:';
const ENDED_KEY = 'capture:ended';

/** @typedef {[source: chrome.debugger.Debuggee, method: string, params: any]} DebuggerEvent */

export class Recorder {
  /** @type {Settings} */
  #settings = NOTHING;
  /** @type {Map<number, TabRecording>} */
  #tabs = new Map();
  /** The marks of an earlier worker. @type {Map<number, Mark>} */
  #marks = new Map();
  /** Whether the person has ended it, until they let it go on. */
  #isEnded = false;
  /** Events from before the settings were known; null once they are. @type {DebuggerEvent[] | null} */
  #early = [];
  /** Tabs that went meanwhile. @type {Set<number>} */
  #goneEarly = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #aloneTimer;
  /** The settings are being applied; null once they are, in every tab. @type {Promise<unknown> | null} */
  #change = null;
  #batches = new Batches((text) => this.onEvents(text));
  #policy;
  /** @type {Outlet} */
  #outlet = {
    add: (stream, entry) => this.#batches.add(stream, entry),
    remember: (tabId, mark) => store({ [MARK_PREFIX + tabId]: mark }),
    dropped: (tabId) => { this.ready(tabId).catch(console.debug); },
    blocks: (url, owner) => this.#policy.isStopped || this.#policy.blocksPage(url, owner),
  };
  /** Sends a frame; false if no daemon is connected. @type {(text: string) => boolean} */
  onEvents = () => false;

  /** @param {Policy} policy */
  constructor(policy) {
    this.#policy = policy;
  }

  /** An event may have woken the worker: goes on with the recordings of an earlier one. */
  restore = once(() => this.#restore());

  async #restore() {
    const [stored] = await Promise.all([sessionItems(null), restoreDismissed(), this.#policy.restore()]);
    const marks = Object.entries(stored).filter(([key]) => key.startsWith(MARK_PREFIX));
    // A reload of the extension let go of all tabs: nothing of what the marks tell is switched on any more.
    if (await isAfterReload()) await chrome.storage.session.remove(marks.map(([key]) => key));
    else for (const [key, mark] of marks) this.#marks.set(Number(key.slice(MARK_PREFIX.length)), /** @type {Mark} */ (mark));
    this.#settings = readSettings(stored[KEY]);
    this.#isEnded = stored[ENDED_KEY] === true;
    for (const tabId of this.#goneEarly) this.handleGone(tabId);
    await this.apply();
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.handleEvent(...event);
  }

  /** The daemon has sent the settings. @param {CaptureSettings} capture */
  configure(capture) {
    this.#settings = readSettings(capture);
    store({ [KEY]: writeSettings(this.#settings) });
    this.#batches.resume();
    this.apply();
  }

  /** The person ends all recording, or lets it go on. It outlives the worker. @param {boolean} isEnded */
  async setEnded(isEnded) {
    await this.restore();
    this.#isEnded = isEnded;
    store({ [ENDED_KEY]: isEnded });
    await this.apply();
  }

  /** Whether the person has ended it. */
  get isEnded() {
    return this.#isEnded;
  }

  /** @param {boolean} connected */
  handleLink(connected) {
    if (connected) this.#aloneTimer = void clearTimeout(this.#aloneTimer);
    else this.#aloneTimer ??= setTimeout(() => this.configure({}), RECORD_ALONE_MS);
  }

  /** Applies the settings to every tab. @returns {Promise<void>} each tab knows them; `applied` waits for the browser, too */
  async apply() {
    const isIdle = this.#settings.all.length === 0 && this.#settings.tabs.size === 0 && this.#tabs.size === 0 && this.#marks.size === 0;
    if (isIdle) return;
    const told = this.#tellTabs();
    const change = inTime(told.then(() => this.#settled([...this.#tabs.keys()]))).finally(() => {
      if (this.#change === change) this.#change = null;
    });
    this.#change = change;
    await told;
  }

  async #tellTabs() {
    for (const tab of await chrome.tabs.query({})) this.handleTab(tab);
  }

  /** @param {number[]} tabIds @returns {Promise<unknown>} they are recorded as they are to be */
  #settled(tabIds) {
    return Promise.all(tabIds.map((tabId) => this.#tabs.get(tabId)?.settled.catch(console.debug)));
  }

  /** Whether new settings are being applied. */
  get isChanging() {
    return this.#change !== null;
  }

  /** Before a command: settings that came before it hold for all that it does. */
  async applied() {
    await this.#change;
  }

  /** It is new, or has gone somewhere. @param {chrome.tabs.Tab} tab */
  handleTab(tab) {
    if (tab.id === undefined || tab.id === chrome.tabs.TAB_ID_NONE) return;
    // The entries of all tabs go through the same buffers, to every reader.
    const isOff = tab.incognito || this.#isEnded || isAnyDismissed() || tab.discarded || !isReachable(tab) || !this.#isPermitted(tab);
    const streams = isOff ? new Set() : streamsOf(this.#settings, tab.id);
    const recording = this.#tabs.get(tab.id);
    if (streams.size > 0) this.#record(tab.id, /** @type {Set<RecordedStream>} */ (streams), tab.url ?? '');
    else if (recording) this.#stop(tab.id, recording);
    else if (this.#marks.has(tab.id)) this.#stop(tab.id, this.#begin(tab.id, ''));
  }

  /** @param {chrome.tabs.Tab} tab whether the person lets agents see it */
  #isPermitted({ id, url = '', pendingUrl = '' }) {
    return !this.#policy.isStopped && !this.#policy.handed.hasTab(id) && !this.#policy.blocks(url) && !this.#policy.blocks(pendingUrl);
  }

  /** @param {number} tabId @param {Set<RecordedStream>} streams @param {string} url of its page */
  #record(tabId, streams, url) {
    const recording = this.#tabs.get(tabId) ?? this.#begin(tabId, url);
    if (recording.resting || sameStreams(recording.streams, streams)) return;
    recording.change(streams).catch((error) => {
      // A page that extensions are kept out of, or that has crashed: tried again when the tab goes somewhere.
      console.debug(error);
      if (this.#tabs.get(tabId) !== recording) return;
      letGo(tabId);
      this.handleGone(tabId);
    });
  }

  /** @param {number} tabId @param {string} url of its page */
  #begin(tabId, url) {
    const recording = new TabRecording(tabId, this.#outlet, url, this.#marks.get(tabId));
    this.#marks.delete(tabId);
    this.#tabs.set(tabId, recording);
    return recording;
  }

  /** @param {number} tabId @param {TabRecording} recording */
  #stop(tabId, recording) {
    this.handleGone(tabId);
    recording.stop();
  }

  /** Closed, or the debugger was. @param {number} tabId */
  handleGone(tabId) {
    if (this.#early) this.#goneEarly.add(tabId);
    const isKnown = this.#tabs.delete(tabId);
    if (this.#marks.delete(tabId) || isKnown) chrome.storage.session.remove(MARK_PREFIX + tabId).catch(console.warn);
  }

  /** @param {DebuggerEvent} event */
  handleEvent(...event) {
    if (this.#early) {
      if (this.#early.length < BUFFER_MAX_ENTRIES) this.#early.push(event);
      return;
    }
    const [{ tabId }, method, params] = event;
    if (tabId !== undefined) this.#tabs.get(tabId)?.handleEvent(method, params ?? {});
  }

  /** Before a navigation: its first request must be recorded, too. @param {number} tabId */
  async ready(tabId) {
    if (this.#settings.all.length === 0 && this.#settings.tabs.size === 0) return;
    this.handleTab(await chrome.tabs.get(tabId));
    await inTime(this.#settled([tabId]));
  }

  /** The recorded tabs, for the popup. @returns {RecordedTab[]} */
  recording() {
    const tabs = [...this.#tabs].filter(([, { streams }]) => streams.size > 0);
    return tabs.map(([tab_id, { streams }]) => ({ tab_id, streams: STREAMS.filter((stream) => streams.has(stream)) }));
  }
}

/** @param {Promise<unknown>} change @returns {Promise<unknown>} done, or not soon enough for a command to wait for it */
function inTime(change) {
  const tooLate = new Promise((resolve) => { setTimeout(resolve, RECORD_FIRST_MS); });
  return Promise.race([change.catch(console.debug), tooLate]);
}

/** @param {Set<RecordedStream>} a @param {Set<RecordedStream>} b */
function sameStreams(a, b) {
  return a.size === b.size && [...a].every((stream) => b.has(stream));
}

/** @param {Record<string, unknown>} entries */
function store(entries) {
  chrome.storage.session.set(entries).catch(console.warn);
}
