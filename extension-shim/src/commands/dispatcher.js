// @ts-check
// One attempt at a command: command, claim, go, run, report. Runs each at most once.

/** @import {Action, AttemptRef, ReportedNotes, CancelFrame, CommandBody, CommandFrame, ConsentNeed, Context, FromExtension, GoFrame, HeldDialog, InFlight, NackFrame, Outcome, Report, ResultAckFrame, RunningCommand, StopReason} from '../../types/protocol.js' */
/** @import {Outbox} from './outbox.js' */
/** @import {UploadRequests} from './upload_requests.js' */
/** @import {FileLook} from '../policy/given_files.js' */

import { clip } from '../lib/clip.js';
import { ConsentNeeded, tooLateToAsk } from '../lib/consent.js';
import { ActionError, discardedMeanwhile, executionTimeout, noSuchTab } from '../lib/errors.js';
import { KEEPALIVE_MS } from '../lib/limits.js';
import { CLIENT_MAX, FINISHED_IDS_MAX, PENDING_AFTER_MS, REPLACED_MS } from './limits.js';
import { cancelledReport, completeReport, failureReport } from './report.js';
import { assertInside, isBounded, isInside, noteOpened, withoutOutside } from './tab_scope.js';

/**
 * @typedef {object} RunState
 * @property {AbortController} abort
 * @property {ReturnType<typeof setTimeout>[]} timers
 * @property {number} startedAt
 * @property {((why: StopReason) => Promise<string>) | null} cleanUp before a timeout or a cancel is reported
 * @property {boolean} begun it may have done something
 * @property {boolean} stopping its own outcome comes too late
 * @property {HeldDialog | null} dialog that it waits for
 * @property {Set<number>} tabIds the tabs that it uses
 * @property {Set<() => void>} unfollows what is called at its end, and at that of each step
 * @property {Map<number, string | undefined>} sharedAt the site at which each was shared when it came there
 *
 * @typedef {object} Attempt an attempt without a report
 * @property {string} correlation_id
 * @property {number} attempt
 * @property {CommandBody} command
 * @property {RunState | null} running null while it is only claimed
 */

/**
 * @typedef {object} Gate the limits that the person sets for agents
 * @property {(command: CommandBody) => boolean} isOpen whether there is nothing to look out for
 * @property {(command: CommandBody, so: {isStep: boolean, look: FileLook}) => Promise<void>} check rejects with why the command may
 *   not begin; with `ConsentNeeded` if the person is to be asked first. `look`: at the files that it gives to pages
 * @property {(command: CommandBody, url: string, so: {ran: boolean}) => void} assertAct throws if it may not act on this page
 * @property {(command: CommandBody) => () => void} [follow] called when it begins; returns what is called at its end
 * @property {(command: CommandBody, outcome: Outcome) => void} [done] it has succeeded
 * @property {(tabId: number) => string | undefined} [sharedAt] the site at which the person shares a tab
 * @property {(tabId: number, origin: string) => Promise<boolean>} [confirms] whether a tab is still shared at that site
 * @property {(command: CommandBody, tabId: number) => boolean} [isPrivateFor] whether a private tab may be told to a command; true of all others
 * @property {(command: CommandBody, url: string) => boolean} [hides] whether it may not be told of a page
 * @property {(command: CommandBody, tabId: number) => void} [opened] it has opened a tab
 * @property {(command: CommandBody, so: {ran: boolean}) => Promise<void>} [landed] rejects if it may not be told of the page that its tab shows now
 * @property {(tabId: number) => number} [idNow] of a tab: the browser may have given it another one
 * @property {(tabId: number, signal: AbortSignal) => Promise<string | null>} [picture] a JPEG of a tab for the person, in base64
 * @property {(command: CommandBody, context: Context) => Promise<ReportedNotes | null> | null} [wake] wakes the page that it is for, if that sleeps
 */

/** Failures that a tab under another id may have caused. */
const OF_LOST_TAB = new Set(['tab_closed', 'no_such_tab', 'navigation_interrupted', 'debugger_unavailable']);

export class Dispatcher {
  /** @type {Map<string, Attempt>} */
  #entries = new Map();
  /** @type {Set<string>} ids that have had their report, oldest first */
  #finished = new Set();
  #epoch = '';
  #actions;
  #outbox;
  #send;
  #gate;
  #uploads;

  /**
   * @param {Record<string, Action>} actions @param {Outbox} outbox
   * @param {(frame: FromExtension) => void} send may lose the frame: a claim is asked for again
   * @param {Gate} gate @param {UploadRequests} uploads
   */
  constructor(actions, outbox, send, gate, uploads) {
    this.#actions = actions;
    this.#outbox = outbox;
    this.#send = send;
    this.#gate = gate;
    this.#uploads = uploads;
  }

  /** A restarted daemon counts attempts anew and sends commands that had not started again. @param {string} epoch */
  enterEpoch(epoch) {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    // A running command goes on: its report is matched by id.
    for (const [id, entry] of this.#entries) if (!entry.running) this.#entries.delete(id);
  }

  /** @returns {InFlight[]} */
  inFlight() {
    /** @type {InFlight[]} */
    const open = Array.from(this.#entries.values(), ({ correlation_id, attempt, running }) =>
      ({ correlation_id, attempt, state: running ? 'running' : 'claimed' }));
    return [...open, ...this.#outbox.inFlight()];
  }

  /** @param {CommandFrame} frame */
  handleCommand({ attempt, command }) {
    const id = command.correlation_id;
    if (this.#outbox.has(id)) return this.#outbox.resend(id, attempt);
    // A safe command may run again: a daemon that asks after its own acknowledgement lost the result.
    if (this.#finished.has(id) && !command.safe) return console.debug('tabwire: already reported', id);
    const known = this.#entries.get(id);
    if (known?.running) return this.#adopt(known, attempt);
    if (known && known.attempt > attempt) return console.debug('tabwire: older attempt', id, attempt);
    this.#accept({ correlation_id: id, attempt, command, running: null });
  }

  /** @param {GoFrame} frame */
  handleGo({ correlation_id, attempt }) {
    const entry = this.#entries.get(correlation_id);
    if (!entry || entry.attempt !== attempt || entry.running) {
      console.debug('tabwire: go without a claim', correlation_id, attempt);
      return;
    }
    this.#start(entry);
  }

  /** @param {CancelFrame} frame */
  handleCancel({ correlation_id }) {
    this.stop(correlation_id);
  }

  /** The daemon, or a person, wants it to end. @param {string} correlation_id */
  stop(correlation_id) {
    const entry = this.#entries.get(correlation_id);
    if (entry) this.#stop(entry, 'cancelled', () => cancelledReport(entry, entry.running?.begun ?? false));
  }

  /** The person wants all of it to end. */
  stopAll() {
    for (const id of [...this.#entries.keys()]) this.stop(id);
  }

  /** The rules have changed: a running command that they forbid ends, too. */
  handleRules() {
    for (const entry of this.#entries.values()) {
      if (!this.#gate.isOpen(entry.command)) this.#gate.check(entry.command, { isStep: entry.running?.begun ?? false, look: this.#lookFor(entry) }).catch((error) => this.#refuse(entry, error));
    }
  }

  /** The browser has unloaded the page of a tab, and given the tab another id: the commands there end. @param {number} added @param {number} removed */
  handleReplaced(added, removed) {
    for (const entry of this.#entries.values()) {
      if (entry.running?.tabIds.has(removed)) this.#refuse(entry, discardedMeanwhile(removed, added));
    }
  }

  /** The commands in these tabs end. @param {(tabId: number) => boolean} isOver @param {ActionError} error */
  endIn(isOver, error) {
    for (const entry of this.#entries.values()) {
      if (entry.running && [...entry.running.tabIds].some(isOver)) this.#refuse(entry, error);
    }
  }

  /** @param {Attempt} entry @param {unknown} error why it may not go on */
  #refuse(entry, error) {
    if (this.#entries.get(entry.correlation_id) !== entry) return;
    const ran = entry.running?.begun ?? false;
    const why = tooLateToAsk(error, { ran });
    this.#stop(entry, 'cancelled', () => failureReport(entry, why instanceof ActionError ? why.after({ ran }) : why));
  }

  /** The running commands, for the popup. @returns {RunningCommand[]} */
  running() {
    return [...this.#entries.values()].flatMap(({ correlation_id, command: { type, tab_id, client }, running }) => {
      if (!running || running.stopping) return [];
      return [{ correlation_id, action: type, tab_id, started_at: running.startedAt, client: clip(client ?? '', CLIENT_MAX) }];
    });
  }

  /** @param {ResultAckFrame} frame */
  handleResultAck({ correlation_id, attempt }) {
    this.#outbox.drop(correlation_id, attempt);
  }

  /** @param {NackFrame} frame */
  handleNack({ correlation_id, attempt, reason }) {
    if (correlation_id === undefined) return console.debug('tabwire: nack', reason);
    const entry = this.#entries.get(correlation_id);
    // A nack for an older attempt must not end a newer one.
    const same = entry && (attempt === undefined || entry.attempt === attempt);
    if (same && !entry.running) this.#entries.delete(correlation_id);
    this.#outbox.drop(correlation_id, attempt);
  }

  /** Sent again while it runs: the report will carry the number that the daemon now waits for. */
  #adopt(/** @type {Attempt} */ entry, /** @type {number} */ attempt) {
    entry.attempt = attempt;
    this.#sendPending(entry);
  }

  /** @param {Attempt} entry */
  #sendPending({ correlation_id, attempt, running }) {
    this.#send({ type: 'pending', correlation_id, attempt, ...(running?.dialog && { dialog: running.dialog }) });
  }

  /** @param {Attempt} entry */
  #accept(entry) {
    const { correlation_id, attempt, command } = entry;
    this.#entries.set(correlation_id, entry);
    const admit = () => {
      // A safe command may run twice, so it needs no leave to start and saves a round trip.
      if (command.safe) this.#start(entry);
      else this.#send({ type: 'claim', correlation_id, attempt });
    };
    try {
      assertInside(command, this.#idNow(command));
    } catch (error) {
      return this.#settle(entry, () => failureReport(entry, error));
    }
    if (this.#gate.isOpen(command)) return admit();
    this.#gate.check(command, { isStep: false, look: this.#lookFor(entry) }).then(
      // Cancelled meanwhile, it is not there any more.
      () => { if (this.#entries.get(correlation_id) === entry) admit(); },
      (error) => (error instanceof ConsentNeeded ? this.#hold(entry, error.need) : this.#settle(entry, () => failureReport(entry, error))),
    );
  }

  /** It has not begun and waits for the person: the daemon sends it again. @param {Attempt} entry @param {ConsentNeed} need */
  #hold(entry, need) {
    const { correlation_id, attempt } = entry;
    if (this.#entries.get(correlation_id) !== entry) return;
    this.#entries.delete(correlation_id);
    this.#send({ type: 'hold', correlation_id, attempt, need });
  }

  /** @param {Attempt} entry */
  #start(entry) {
    /** @type {RunState} */
    const running = {
      abort: new AbortController(), timers: this.#timers(entry), startedAt: Date.now(), cleanUp: null, begun: false, stopping: false, dialog: null,
      tabIds: new Set(),
      unfollows: new Set(),
      sharedAt: new Map(),
    };
    entry.running = running;
    this.#run(entry, running).then(
      (outcome) => running.stopping || this.#settle(entry, () => completeReport(entry, outcome)),
      (error) => {
        const fail = () => running.stopping || this.#settle(entry, () => failureReport(entry, error));
        // The news that the browser has unloaded the page comes after the failure that this has caused.
        if (error instanceof ActionError && OF_LOST_TAB.has(error.code) && running.tabIds.size > 0) setTimeout(fail, REPLACED_MS);
        else fail();
      },
    );
  }

  /** @param {Attempt} entry @param {RunState} running @returns {Promise<Outcome>} */
  #run(entry, running) {
    return this.#perform(entry, entry.command, running, running.abort.signal);
  }

  /** @param {Attempt} entry @param {CommandBody} named it, or a step of it @param {RunState} running @param {AbortSignal} signal @returns {Promise<Outcome>} */
  async #perform(entry, named, running, signal) {
    const { type, params, tab_id } = named;
    const command = tab_id === undefined ? named : { ...named, tab_id: this.#idNow(named) };
    if (!Object.hasOwn(this.#actions, type)) {
      const known = Object.keys(this.#actions).join(', ');
      throw new ActionError('unknown_action', `this extension cannot ${type}; it can: ${known}`);
    }
    assertInside(named, command.tab_id);
    // Since it was claimed rules, or where its tab is, may have changed.
    if (!this.#gate.isOpen(command)) await this.#check(entry, command, running);
    if (isBounded(command)) await this.#confirm(command, running);
    if (signal.aborted) throw new ActionError('internal', 'it was ended before it began');
    if (command.tab_id !== undefined) running.tabIds.add(command.tab_id);
    const unfollow = this.#gate.follow?.(command) ?? (() => {});
    running.unfollows.add(unfollow);
    const context = this.#contextOf(entry, command, running, signal);
    try {
      const waking = this.#gate.wake?.(command, context);
      const notes = waking ? await waking : null;
      // It may show something else than before it slept.
      if (notes !== null && !this.#gate.isOpen(command)) await this.#check(entry, command, running);
      const act = () => this.#actions[type](params ?? {}, context);
      // A batch is one act.
      const outcome = await (named === entry.command && named.pictured === true ? this.#pictured(entry, command, signal, act) : act());
      await this.#confirm(command, running);
      await this.#gate.landed?.(command, { ran: running.begun });
      this.#gate.done?.(command, outcome);
      return notes === null ? outcome : { ...outcome, notes: { ...outcome.notes, ...notes } };
    } catch (error) {
      // Its words may be those of the next page.
      if (isBounded(command)) await this.#confirm(command, running);
      await this.#gate.landed?.(command, { ran: running.begun });
      throw withoutOutside(command, error, (tabId) => this.#sees(command, tabId));
    } finally {
      if (running.unfollows.delete(unfollow)) unfollow();
    }
  }

  /**
   * Has the tab pictured for the person before and after an act.
   * @template T @param {Attempt} entry @param {CommandBody} command @param {AbortSignal} signal @param {() => Promise<T>} act @returns {Promise<T>}
   */
  async #pictured(entry, command, signal, act) {
    const { tab_id } = command;
    if (tab_id === undefined) return act();
    const show = async (/** @type {'before' | 'after'} */ moment) => {
      const jpeg = signal.aborted ? null : await this.#gate.picture?.(this.#idNow(command) ?? tab_id, signal);
      if (jpeg && !signal.aborted) this.#send({ type: 'act_picture', correlation_id: entry.correlation_id, moment, jpeg });
    };
    await show('before');
    if (signal.aborted) throw new ActionError('internal', 'it was ended before it began');
    try {
      return await act();
    } finally {
      await show('after');
    }
  }

  /** Meanwhile a shared tab may have gone to a site that nobody has shared. @param {CommandBody} command @param {RunState} running */
  async #confirm(command, running) {
    const { tab_id } = command;
    if (!isBounded(command) || tab_id === undefined) return;
    if (!running.sharedAt.has(tab_id)) running.sharedAt.set(tab_id, this.#gate.sharedAt?.(tab_id));
    const origin = running.sharedAt.get(tab_id);
    if (origin === undefined) return;
    const isInside = await (this.#gate.confirms?.(tab_id, origin) ?? true);
    if (!isInside) throw noSuchTab(`tab ${command.tab_id} is not open`).after({ ran: running.begun });
  }

  /** @param {CommandBody} command @param {number} tabId */
  #sees(command, tabId) {
    return isInside(command, tabId) && (this.#gate.isPrivateFor?.(command, tabId) ?? true);
  }

  /** @param {CommandBody} command @returns {number | undefined} */
  #idNow({ tab_id }) {
    return tab_id === undefined ? undefined : this.#gate.idNow?.(tab_id) ?? tab_id;
  }

  /** @param {Attempt} entry @returns {FileLook} */
  #lookFor(entry) {
    return (paths, site) => this.#uploads.look(() => refOf(entry), entry.running?.abort.signal, paths, site);
  }

  /** Once more, when nobody can be asked any more. @param {Attempt} entry @param {CommandBody} command it, or a step of it @param {RunState} running */
  async #check(entry, command, running) {
    const isStep = command !== entry.command;
    await this.#gate.check(command, { isStep, look: this.#lookFor(entry) }).catch((error) => { throw tooLateToAsk(error, { ran: running.begun }); });
  }

  /** @param {Attempt} entry @param {CommandBody} command it, or a step of it @param {RunState} running @param {AbortSignal} signal @returns {Context} */
  #contextOf(entry, command, running, signal) {
    const { tab_id, timeout_ms, client = '' } = command;
    return {
      tab_id,
      timeout_ms,
      client,
      clientId: command.client_id,
      seesAll: !isBounded(command),
      sees: (tabId) => this.#sees(command, tabId),
      hides: (url) => this.#gate.hides?.(command, url) ?? false,
      privateOwner: command.private_owner,
      noteOpened: (tabId, so = {}) => {
        noteOpened(command, tabId);
        this.#gate.opened?.(command, tabId);
        // Before everything else that tells of the tab: it is the owner's from now on.
        this.#send({ type: 'tab_opened', correlation_id: entry.correlation_id, tab_id: tabId, ...(so.isPrivate && { private: true }) });
      },
      signal,
      begin: () => {
        signal.throwIfAborted();
        running.begun = true;
      },
      admitAct: (url) => this.#gate.assertAct(command, url, { ran: running.begun }),
      // A step that is over has nothing to clean up.
      onStop: (cleanUp) => { if (!signal.aborted) running.cleanUp = cleanUp; },
      holdsDialogs: command.holds_dialogs === true,
      tellDialog: (dialog) => {
        if (running.dialog === dialog) return;
        running.dialog = dialog;
        if (this.#entries.get(entry.correlation_id) === entry) this.#sendPending(entry);
      },
      perform: (step) => this.#performStep(entry, { ...command, ...step }, running, signal),
      requestFiles: (paths, site) => this.#uploads.request(() => refOf(entry), signal, paths, site),
    };
  }

  /**
   * An action as a part of a command: as if called alone, with a limit of its own, under the command's lifecycle.
   * @param {Attempt} entry @param {CommandBody} step @param {RunState} running @param {AbortSignal} outer the command's @returns {Promise<Outcome>}
   */
  async #performStep(entry, step, running, outer) {
    outer.throwIfAborted();
    const own = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        const { cleanUp } = running;
        running.cleanUp = null;
        own.abort();
        const fail = (/** @type {string} */ note) => reject(executionTimeout(step.timeout_ms, note));
        (cleanUp ? cleanUp('timeout') : Promise.resolve('')).then(fail, () => fail(''));
      }, step.timeout_ms);
    });
    try {
      return await Promise.race([this.#perform(entry, step, running, AbortSignal.any([outer, own.signal])), /** @type {Promise<never>} */ (late)]);
    } catch (error) {
      // A step that ends by the abort itself knows neither the reason nor the note of the clean-up.
      if (own.signal.aborted && !outer.aborted) await late;
      throw error;
    } finally {
      clearTimeout(timer);
      own.abort();
      // While the command is stopped its clean-up is under way.
      if (!running.stopping) running.cleanUp = null;
    }
  }

  /**
   * Ends a command that no agent waits for any more, and reports when its tab is usable again: the daemon then
   * gives the tab to the next command.
   * @param {Attempt} entry @param {StopReason} why @param {(note: string) => Report} report
   */
  #stop(entry, why, report) {
    const { running } = entry;
    // Without a clean-up the action has left nothing behind in its tab.
    if (!running?.cleanUp) return this.#settle(entry, () => report(''));
    if (running.stopping) return;
    running.stopping = true;
    for (const timer of running.timers) clearTimeout(timer);
    running.abort.abort();
    const done = (/** @type {string} */ note) => this.#settle(entry, () => report(note));
    running.cleanUp(why).then(done, () => done(''));
  }

  /** @param {Attempt} entry */
  #timers(entry) {
    const { command } = entry;
    const timeUp = () => this.#stop(entry, 'timeout', (note) => failureReport(entry, executionTimeout(command.timeout_ms, note)));
    const sendPending = () => this.#sendPending(entry);
    return [
      setTimeout(timeUp, command.timeout_ms),
      setTimeout(sendPending, PENDING_AFTER_MS),
      // Any chrome.* call counts as activity; this is the cheapest.
      setInterval(() => chrome.runtime.getPlatformInfo(), KEEPALIVE_MS),
    ];
  }

  /**
   * Exactly one report an attempt: the second caller finds the entry gone.
   * @param {Attempt} entry @param {Report | (() => Report)} report made only if it counts
   */
  #settle(entry, report) {
    const { correlation_id, running } = entry;
    if (this.#entries.get(correlation_id) !== entry) return;
    this.#entries.delete(correlation_id);
    for (const timer of running?.timers ?? []) clearTimeout(timer);
    running?.abort.abort();
    // A script that never ends is followed no longer than its command.
    for (const unfollow of running?.unfollows ?? []) unfollow();
    running?.unfollows.clear();
    this.#remember(correlation_id);
    this.#outbox.put(typeof report === 'function' ? report() : report);
  }

  /** @param {string} id */
  #remember(id) {
    this.#finished.add(id);
    // A set iterates in the order of insertion: the first entry is the oldest.
    if (this.#finished.size <= FINISHED_IDS_MAX) return;
    const [oldest] = this.#finished;
    this.#finished.delete(oldest);
  }
}

/** @param {Attempt} entry @returns {AttemptRef} */
function refOf({ correlation_id, attempt }) {
  return { correlation_id, attempt };
}
