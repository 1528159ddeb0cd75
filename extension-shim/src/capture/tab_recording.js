// @ts-check
// The recording of one tab: switches on the sources of events, and makes entries of the events.

/** @import {LogEntry, RecordedEntry, RecordedStream} from '../../types/protocol.js' */
/** @import {Domain} from './flood.js' */
/** @import {FinishedRequest} from './requests.js' */

import { cdp, drop, hold, letGo } from '../browser/debugger.js';
import { originOfFrame } from '../browser/frame_origin.js';
import { OWNER_MS } from '../browser/limits.js';
import { clip } from '../lib/clip.js';
import { within } from '../lib/within.js';
import { hidesOwner } from '../policy/sites.js';
import { bodyEntry, hasLongPostData, isFetchable } from './bodies.js';
import { FloodGuard } from './flood.js';
import { BODIES_AT_ONCE, KEPT_BODY_MAX_BYTES, FLOOD_EVENTS, FLOOD_PATIENCE_MS, FLOOD_PAUSE_MS, RELEASE_MS, URL_MAX } from './limits.js';
import { browserEntry, consoleEntry, exceptionEntry } from './logs.js';
import { needsWatch, readWatch, STOP_WATCH, watchSource, WORLD } from './page_watch.js';
import { Requests } from './requests.js';
import { Sockets } from './sockets.js';

/**
 * @typedef {{binding: string, identifier: string, of: string}} Watch a script in the tab's pages; `of`: for which streams
 * @typedef {{since: number, domains: string[], watch: Watch | null}} Mark the state that the next worker needs
 *
 * @typedef {object} Outlet
 * @property {(stream: RecordedStream, entry: RecordedEntry) => void} add
 * @property {(tabId: number, mark: Mark) => void} remember
 * @property {(url: string, owner: string | null) => boolean} blocks whether nothing of this page may be recorded; `owner`
 *   of an empty page: its origin, null if it is not known
 * @property {(tabId: number) => void} dropped the debugger was let go, and may be taken up again now
 */

const DOMAINS = /** @type {Domain[]} */ (Object.keys(FLOOD_EVENTS));
/** Has the browser forget the lines that it keeps of a page. */
const DISCARD = { Runtime: 'Runtime.discardConsoleEntries', Log: 'Log.clear' };
const NETWORK_OPTIONS = { maxPostDataSize: KEPT_BODY_MAX_BYTES };

export class TabRecording {
  /** @type {Set<RecordedStream>} */
  streams = new Set();
  /** Changes come one after another. @type {Promise<void>} */
  settled = Promise.resolve();
  #requests;
  #sockets = new Sockets();
  #mark;
  #url;
  /** Whose the page is, if it is an empty one. @type {string | null} */
  #owner = null;
  #mainFrame = '';
  #arrivals = 0;
  #fetching = 0;
  #guard = new FloodGuard();
  /** The time of the last line, by source. @type {Partial<Record<Domain, number>>} */
  #lastLineAt = {};
  /** Lines from before were kept by the browser, which repeats a bounded number of them. */
  #listensSince = 0;
  /** Not even the stored lines of the page are wanted. */
  #flooded = false;
  /** The stored lines from after the last one are wanted: the tab was let go of only because they came too fast. */
  #resumes = false;
  /** It was let go of, and is to be left alone for a while. */
  resting = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #releaseTimer;
  #tabId;
  #outlet;

  /** @param {number} tabId @param {Outlet} outlet @param {string} url of its page @param {Mark} [mark] of an earlier worker */
  constructor(tabId, outlet, url, mark) {
    this.#tabId = tabId;
    this.#outlet = outlet;
    this.#requests = new Requests((url) => this.#isDenied(url));
    this.#url = clip(url, URL_MAX);
    this.#mark = mark ?? { since: Date.now(), domains: [], watch: null };
  }

  /** @param {Set<RecordedStream>} streams @returns {Promise<void>} done, or why not */
  change(streams) {
    this.streams = streams;
    // One change after the other: two at once would leave domains switched on that no stream needs.
    this.settled = this.settled.catch(console.debug).then(() => this.#switch(streams));
    return this.settled;
  }

  /** Nothing of it is wanted any more; the tab is let go as after a command. */
  async stop() {
    await this.change(new Set()).catch(console.debug);
    clearTimeout(this.#releaseTimer);
    letGo(this.#tabId);
  }

  /** @param {Set<RecordedStream>} streams */
  async #switch(streams) {
    if (streams !== this.streams) return; // Changed again meanwhile.
    if (streams.size > 0) await hold(this.#tabId);
    // The browser repeats the lines from before the source was switched on.
    if (streams.has('logs') && !this.#mark.domains.includes('Log') && !this.#resumes) this.#mark.since = Date.now();
    this.#resumes = false;
    await Promise.all([
      streams.size > 0 && this.#look(),
      this.#domain('Runtime', streams.has('logs') || needsWatch(streams)),
      this.#domain('Log', streams.has('logs')),
      this.#domain('Network', streams.has('network') || streams.has('bodies') || streams.has('websocket'),
        NETWORK_OPTIONS),
      this.#switchWatch(streams),
    ]);
    if (streams.size > 0) this.#outlet.remember(this.#tabId, this.#mark);
  }

  async #look() {
    const { frameTree: { frame } } = await this.#cdp('Page.getFrameTree');
    await this.#arrive(frame.id, frame.url).catch(console.debug);
  }

  /** The content of an empty page belongs to its opener. @param {string} frameId @param {string} url */
  async #arrive(frameId, url) {
    this.#mainFrame = frameId;
    this.#url = clip(url, URL_MAX);
    this.#owner = null;
    // A second navigation may come while the first document's owner is looked up: then only the second counts.
    this.#arrivals += 1;
    const arrival = this.#arrivals;
    if (!hidesOwner(url)) return;
    const owner = await within(OWNER_MS, originOfFrame(this.#tabId, frameId));
    if (arrival === this.#arrivals) this.#owner = owner;
  }

  /** @param {string} name @param {boolean} on @param {object} [params] */
  async #domain(name, on, params) {
    const others = this.#mark.domains.filter((domain) => domain !== name);
    const isOn = others.length < this.#mark.domains.length;
    if (on === isOn) return;
    this.#mark.domains = on ? [...others, name] : others;
    if (on) this.#listensSince = Date.now();
    // After a flood not even its stored lines are wanted. Not waited for: a page that goes on would store more of them.
    if (on && name === 'Runtime' && this.#flooded) this.#cdp(DISCARD.Runtime).catch(console.debug);
    await this.#cdp(`${name}.${on ? 'enable' : 'disable'}`, on ? params : undefined);
  }

  /** @param {Set<RecordedStream>} streams */
  async #switchWatch(streams) {
    const of = ['actions', 'performance'].filter((stream) => streams.has(/** @type {RecordedStream} */ (stream))).join();
    if ((this.#mark.watch?.of ?? '') === of) return;
    if (this.#mark.watch) await this.#endWatch(this.#mark.watch);
    this.#mark.watch = null;
    if (!of) return;
    // Another name each time, so that a former watch in the page cannot report.
    const binding = `tabwire_${crypto.randomUUID().replaceAll('-', '')}`;
    await this.#addBinding(binding);
    const { identifier } = await this.#inject(watchSource(streams, binding));
    this.#mark.watch = { binding, identifier, of };
  }

  /** @param {string} name */
  #addBinding(name) {
    return this.#cdp('Runtime.addBinding', { name, executionContextName: WORLD });
  }

  /** @param {Watch} watch */
  async #endWatch({ identifier, binding }) {
    await this.#cdp('Page.removeScriptToEvaluateOnNewDocument', { identifier });
    // The watch lives in the page and has no other way to learn that it is over.
    const stop = await this.#inject(STOP_WATCH);
    await this.#cdp('Page.removeScriptToEvaluateOnNewDocument', stop);
    await this.#cdp('Runtime.removeBinding', { name: binding });
  }

  /** @param {string} source @returns {Promise<{identifier: string}>} runs in each frame, now and when it is loaded anew */
  #inject(source) {
    return this.#cdp('Page.addScriptToEvaluateOnNewDocument', { source, worldName: WORLD, runImmediately: true });
  }

  /** @param {string} method @param {any} params */
  handleEvent(method, params) {
    if (method.startsWith('Network.')) return this.#handleNetwork(method, params);
    switch (method) {
      case 'Runtime.consoleAPICalled': this.#log('Runtime', consoleEntry, params, params.timestamp); break;
      case 'Runtime.exceptionThrown': this.#log('Runtime', exceptionEntry, params, params.timestamp); break;
      case 'Log.entryAdded':
        // With the network recorded, a request that failed has its entry there.
        if (params.entry.source === 'network' && this.streams.has('network')) return;
        this.#log('Log', browserEntry, params, params.entry.timestamp);
        break;
      case 'Runtime.bindingCalled': this.#handleWatchReport(params); break;
      case 'Page.frameNavigated': if (!params.frame.parentId) this.#handleNavigated(params.frame.id, params.frame.url); break;
      case 'Page.navigatedWithinDocument': if (params.frameId === this.#mainFrame) this.#handleNavigated(params.frameId, params.url); break;
      default:
    }
  }

  /** Events that are on their way still arrive. @param {Domain} domain */
  async #mute(domain) {
    const pauseMs = this.#guard.mute(domain, Date.now());
    // The lines of a short burst are read afterwards.
    if (pauseMs > FLOOD_PAUSE_MS || domain === 'Network') this.#noteFlood(domain, pauseMs);
    // A page in a loop takes no command: then the debugger itself is let go.
    const mark = this.#mark;
    const heeded = this.#cdp(`${domain}.disable`).then(() => true);
    while (!await Promise.race([heeded, after(FLOOD_PATIENCE_MS)])) {
      if (mark === this.#mark && this.#guard.isInLoop(domain) && drop(this.#tabId)) this.#rest(domain, this.#guard.rest());
      if (mark !== this.#mark) return;
    }
    if (mark !== this.#mark) return;
    // To disable it took the watch's way out, too.
    const { watch } = this.#mark;
    if (domain === 'Runtime' && watch) await this.#addBinding(watch.binding);
    await after(pauseMs);
    await this.#listenAgain(domain, domain !== 'Network' && pauseMs === FLOOD_PAUSE_MS);
  }

  /** @param {Domain} domain @param {number} pauseMs */
  #noteFlood(domain, pauseMs) {
    const text = `Tabwire: the page logs more than can be recorded; about ${pauseMs / 1000} s of ${domain} events are missing`;
    this.#add('logs', /** @type {LogEntry} */ ({ t: Date.now(), level: 'warn', source: 'browser', text, url: this.#url }));
  }

  /** To let go of the tab empties the queue of its events. @param {Domain} domain @param {number} madeAt by the page's clock */
  #dropQueue(domain, madeAt) {
    if (this.resting || !this.#guard.pilesUp(domain, Date.now(), madeAt) || !drop(this.#tabId)) return;
    this.#rest(domain, this.#guard.isFirst ? FLOOD_PAUSE_MS : this.#guard.rest());
  }

  /** The debugger is let go: all that it had switched on is off. @param {Domain} domain @param {number} pauseMs */
  #rest(domain, pauseMs) {
    // What the browser keeps of the log is read afterwards; of the other streams it keeps nothing.
    this.#resumes = this.#guard.isFirst;
    this.#flooded = !this.#resumes;
    if (this.#flooded || [...this.streams].some((stream) => stream !== 'logs')) this.#noteFlood(domain, pauseMs);
    const since = this.#resumes ? Math.max(this.#mark.since, ...Object.values(this.#lastLineAt)) : Date.now();
    this.#mark = { since, domains: [], watch: null };
    this.streams = new Set();
    this.resting = true;
    setTimeout(() => {
      this.resting = false;
      // Letting go has ended the muting of every source.
      for (const source of DOMAINS) this.#guard.end(source, Date.now());
      this.#outlet.dropped(this.#tabId);
    }, pauseMs);
  }

  /** @param {Domain} domain @param {boolean} again whether the browser repeats its stored lines: too many of a page that goes on */
  async #listenAgain(domain, again) {
    this.#guard.end(domain, Date.now());
    if (!this.#mark.domains.includes(domain)) return;
    if (again) this.#mark.since = this.#lastLineAt[domain] ?? this.#mark.since;
    else if (domain !== 'Network') this.#cdp(DISCARD[domain]).catch(console.debug);
    this.#listensSince = Date.now();
    await this.#cdp(`${domain}.enable`, domain === 'Network' ? NETWORK_OPTIONS : undefined);
  }

  /** @param {'Runtime' | 'Log'} domain @param {(params: any) => Omit<LogEntry, 'url'> | null} make @param {any} params @param {number} t */
  #log(domain, make, params, t) {
    if (!this.streams.has('logs') || t <= this.#mark.since) return;
    this.#lastLineAt[domain] = t;
    const entry = make(params);
    if (entry) this.#add('logs', { ...entry, url: this.#url });
    if (t > this.#listensSince) this.#count(domain, t);
    // The page keeps every logged object for an inspector: here there is none.
    this.#releaseTimer ??= setTimeout(() => {
      this.#releaseTimer = undefined;
      this.#cdp('Runtime.releaseObjectGroup', { objectGroup: 'console' }).catch(console.debug);
    }, RELEASE_MS);
  }

  /** @param {Domain} domain @param {number} [madeAt] by the page's clock, if it tells */
  #count(domain, madeAt) {
    if (this.#guard.handle(domain, Date.now(), madeAt)) this.#mute(domain).catch(console.debug);
    if (madeAt !== undefined) this.#dropQueue(domain, madeAt);
  }

  /** @param {string} method @param {any} params */
  #handleNetwork(method, params) {
    this.#count('Network');
    if (method.startsWith('Network.webSocket')) {
      const entry = this.#sockets.handle(method, params, Date.now());
      if (entry && this.streams.has('websocket') && !this.#isDenied(entry.url)) this.#add('websocket', /** @type {RecordedEntry} */ ({ ...entry, page_url: this.#url }));
      return;
    }
    for (const finished of this.#requests.handle(method, params)) {
      if (this.#outlet.blocks(finished.entry.page_url, this.#owner)) continue;
      if (this.streams.has('network')) this.#add('network', finished.entry);
      if (this.streams.has('bodies')) this.#addBodies(finished).catch(console.debug);
    }
  }

  /** @param {FinishedRequest} finished */
  async #addBodies(finished) {
    const { request: { id: requestId, sent } } = finished;
    // Beyond the limit a body is left out, not queued: a queue would hold whole bodies in memory.
    const isBusy = this.#fetching >= BODIES_AT_ONCE;
    this.#fetching += 1;
    const ask = (/** @type {boolean} */ is, /** @type {string} */ method) =>
      (is && !isBusy ? this.#cdp(method, { requestId }).catch(() => undefined) : undefined);
    const [asked, answer] = await Promise.all([
      ask(hasLongPostData(finished.request), 'Network.getRequestPostData'),
      ask(isFetchable(finished), 'Network.getResponseBody'),
    ]);
    this.#fetching -= 1;
    const entry = bodyEntry(finished, asked?.postData ?? sent.request.postData, answer);
    // Rules may be others by now.
    if (entry && !this.#isDenied(entry.url)) this.#add('bodies', entry);
  }

  /** @param {string} url of a request */
  #isDenied(url) {
    return this.#outlet.blocks(url, 'null');
  }

  /** @param {{name: string, payload: string}} call */
  #handleWatchReport({ name, payload }) {
    if (name !== this.#mark.watch?.binding) return;
    const report = readWatch(payload, this.streams);
    // A frame in the page may be of another site.
    if (report && !this.#outlet.blocks(report.entry.url ?? '', report.origin)) this.#add(report.stream, report.entry);
  }

  /** @param {string} frameId @param {string} url */
  #handleNavigated(frameId, url) {
    this.#arrive(frameId, url).catch(console.debug);
    if (this.streams.has('actions')) {
      this.#add('actions', /** @type {RecordedEntry} */ ({ t: Date.now(), kind: 'navigate', url: this.#url }));
    }
  }

  /** @param {RecordedStream} stream @param {RecordedEntry} entry */
  #add(stream, { t, ...entry }) {
    if (this.#outlet.blocks(this.#url, this.#owner)) return;
    this.#outlet.add(stream, { t: Math.round(t), tab_id: this.#tabId, ...entry });
  }

  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  #cdp(method, params) {
    return cdp(this.#tabId, method, params);
  }
}

/** @param {number} ms @returns {Promise<false>} */
function after(ms) {
  return new Promise((resolve) => { setTimeout(resolve, ms, false); });
}
