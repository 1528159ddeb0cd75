// @ts-check
// Dialogs of the tabs in which commands run. As a rule they are dismissed and told of. A command that holds them leaves
// them open until an agent answers by `dialog`: those of scripts, names and passwords that servers ask for, and choosers
// of files. One that nobody answers is dismissed before the command's time ends, so that no tab is stuck.

/** @import {Context, HeldDialog} from '../../types/protocol.js' */
/** @import {OpenedDialog, Watcher} from './debugger.js' */

import { clip } from '../lib/clip.js';
import { ActionError } from '../lib/errors.js';
import { answerDialog, cdp, isAttached, onEventOf, withDialogs } from './debugger.js';
import { interception } from './interception.js';
import { DIALOG_TEXT_MAX, HOLD_END_MS } from './limits.js';
import { documentNow } from './site_guard.js';
import { policy } from './state.js';

/**
 * @typedef {{accept: boolean, text?: string, username?: string, password?: string, attach?: (chosen: ChosenField) => Promise<void>}} DialogAnswer
 *   `attach`: gives files to the field of a chooser
 * @typedef {{sessionId: string | undefined, frameId: string, backendNodeId?: number}} ChosenField
 *
 * @typedef {object} AskingDialog
 * @property {HeldDialog} told
 * @property {string} url of the document or server that opened it
 * @property {(answer: DialogAnswer) => Promise<unknown>} answer
 *
 * @typedef {DialogAnswer & {note?: string, done?: (failed?: unknown) => void}} GivenAnswer
 */

const LEAVING = 'the page asks before it is left, since input there is not saved';

/** The dialogs that one command holds, one after the other. */
class DialogHold {
  #tabId;
  #context;
  #watcher;
  #until;
  #pending = 0;
  #queue = Promise.resolve();
  /** @type {{dialog: AskingDialog, give: (answer: GivenAnswer) => void} | null} */
  #current = null;

  /** @param {number} tabId @param {Context} context @param {Watcher} watcher */
  constructor(tabId, context, watcher) {
    this.#tabId = tabId;
    this.#context = context;
    this.#watcher = watcher;
    this.#until = performance.now() + context.timeout_ms - Math.min(HOLD_END_MS, context.timeout_ms / 5);
  }

  get current() {
    return this.#current;
  }

  get isHeld() {
    return this.#pending > 0;
  }

  /** Resolves once every dialog so far has its answer. @returns {Promise<void>} */
  async answered() {
    while (this.#pending > 0) await this.#queue;
  }

  /** @param {AskingDialog} dialog */
  hold(dialog) {
    this.#pending += 1;
    this.#queue = this.#queue.then(() => this.#ask(dialog)).catch(console.debug).finally(() => { this.#pending -= 1; });
  }

  /** @param {OpenedDialog} opened */
  holdOpened({ type, message, defaultText, url }) {
    const told = { type, message: clip(type === 'beforeunload' ? LEAVING : message, DIALOG_TEXT_MAX), ...(type === 'prompt' && { default_text: clip(defaultText, DIALOG_TEXT_MAX) }) };
    this.hold({ told, url, answer: ({ accept, text }) => answerDialog(this.#tabId, accept, type === 'prompt' ? text ?? defaultText : undefined) });
  }

  /** The person, or the page's end, has closed the dialog of a script. @param {boolean} accepted */
  handleClosed(accepted) {
    const { current } = this;
    if (current && !['authentication', 'file_chooser'].includes(current.dialog.told.type)) current.give({ accept: accepted, note: 'by the person' });
  }

  /** The act is over, and with it all that waits for an answer. */
  end() {
    this.#until = 0;
    this.#current?.give({ accept: false });
  }

  /** @param {AskingDialog} dialog */
  async #ask(dialog) {
    const { told } = dialog;
    const answer = await this.#mayTell(dialog) ? await this.#answerTo(dialog) : { accept: false };
    this.#context.tellDialog(null);
    const { accept, note, done } = answer;
    const said = accept ? 'accepted' : 'dismissed';
    this.#watcher.dialogs.push({ type: told.type, message: told.message, answer: note ? `${said} ${note}` : said });
    if (!accept) this.#watcher.onDialog?.({ type: told.type, message: told.message });
    try {
      if (note !== 'by the person') await dialog.answer(answer);
      done?.();
    } catch (error) {
      done?.(error);
      if (!done) throw error;
    }
  }

  /** @param {AskingDialog} dialog @returns {Promise<GivenAnswer>} */
  #answerTo(dialog) {
    const { signal } = this.#context;
    const left = this.#until - performance.now();
    const late = { accept: false, note: 'since nobody answered in time' };
    if (left <= 0 || signal.aborted) return Promise.resolve(late);
    return new Promise((give) => {
      const timer = setTimeout(() => give(late), left);
      const abort = () => give({ accept: false });
      signal.addEventListener('abort', abort, { once: true });
      this.#current = {
        dialog,
        give: (answer) => {
          this.#current = null;
          clearTimeout(timer);
          signal.removeEventListener('abort', abort);
          give(answer);
        },
      };
      this.#context.tellDialog(dialog.told);
    }).finally(() => { this.#current = null; });
  }

  /** The text is the page's: no agent sees that of a closed site. @param {AskingDialog} dialog */
  async #mayTell({ told, url }) {
    const isOpen = !isDenied(url) && !policy.far.hides(this.#tabId, url ?? '') && await documentNow(this.#tabId).then(() => true, () => false);
    if (!isOpen) told.message = '';
    return isOpen;
  }

  /** Names and passwords that servers ask for. @returns {Promise<() => void>} ends it */
  async watchServers() {
    const tabId = this.#tabId;
    const endListening = onEventOf(tabId, 'Fetch.authRequired', (asked) => this.#holdServer(asked));
    const interceptor = { handlesAuth: true, patterns: ['Document', 'XHR', 'Fetch'].map((resourceType) => ({ resourceType })) };
    await interception.begin(tabId, interceptor);
    return () => {
      endListening();
      interception.end(tabId, interceptor).catch(console.debug);
    };
  }

  /** @param {any} params of Fetch.authRequired */
  #holdServer({ requestId, request, authChallenge: { source, origin, realm = '' } }) {
    const respond = (/** @type {object} */ authChallengeResponse) => cdp(this.#tabId, 'Fetch.continueWithAuth', { requestId, authChallengeResponse });
    // A proxy is the person's, and so is its password.
    if (source === 'Proxy') return void respond({ response: 'Default' }).catch(console.debug);
    const told = { type: 'authentication', message: clip(`${origin} asks for a name and a password${realm ? `: ${realm}` : ''}`, DIALOG_TEXT_MAX) };
    this.hold({
      told, url: request.url,
      answer: ({ accept, username = '', password = '' }) => respond(accept ? { response: 'ProvideCredentials', username, password } : { response: 'CancelAuth' }),
    });
  }

  /** A chooser of files, which is not shown. @param {ChosenField & {mode?: string}} chosen @param {string} url of its page */
  holdChooser({ mode, ...chosen }, url) {
    const told = { type: 'file_chooser', message: mode === 'selectMultiple' ? 'the page asks for files' : 'the page asks for a file' };
    this.hold({ told, url, answer: async ({ accept, attach: give }) => { if (accept) await give?.(chosen); } });
  }
}

/** @param {string} url of a document or a server */
function isDenied(url) {
  return /^(https?|file):/.test(url) && policy.blocks(url);
}

/**
 * The event of a dialog that opens, without the words of a frame on a closed site.
 * @template {{url?: string, message?: string}} T @param {T} params @returns {T}
 */
export function withoutDeniedWords(params) {
  return isDenied(params.url ?? '') ? { ...params, message: '', defaultPrompt: '' } : params;
}

/** Of each tab with a command that holds dialogs: a tab has one command at a time. @type {Map<number, DialogHold>} */
const holds = new Map();

/**
 * Runs while the dialogs of a tab are dismissed and told of, or held for an answer.
 * @template T @param {Context} context @param {number} tabId @param {Watcher} watcher @param {() => Promise<T>} run @returns {Promise<T>}
 */
export async function meetDialogs(context, tabId, watcher, run) {
  // A hold of its own would end with it, and take the one around it along.
  if (context.hasDialogsMet) return run();
  // Where no debugger is, dialogs are the person's.
  if (!context.holdsDialogs || !isAttached(tabId)) return withDialogs(tabId, watcher, run);
  const hold = new DialogHold(tabId, context, watcher);
  holds.set(tabId, hold);
  watcher.hold = (opened) => hold.holdOpened(opened);
  watcher.onClosed = (accepted) => hold.handleClosed(accepted);
  const endServers = await hold.watchServers();
  try {
    return await withDialogs(tabId, watcher, run);
  } finally {
    hold.end();
    endServers();
    holds.delete(tabId);
  }
}

/** @param {number} tabId whether a dialog waits for an answer there */
export function isHeld(tabId) {
  return holds.get(tabId)?.isHeld === true;
}

/** Resolves once no dialog waits for an answer. @param {number} tabId @returns {Promise<void> | undefined} */
export function dialogsAnswered(tabId) {
  return holds.get(tabId)?.answered();
}

/** @param {number} tabId @param {ChosenField & {mode?: string}} chosen @param {string} url of its page @returns {boolean} whether it is held */
export function holdChooser(tabId, chosen, url) {
  holds.get(tabId)?.holdChooser(chosen, url);
  return holds.has(tabId);
}

/** @param {number} tabId @returns {HeldDialog | undefined} the dialog that waits for an answer there */
export function heldDialog(tabId) {
  return holds.get(tabId)?.current?.dialog.told;
}

/** @param {number} tabId @param {DialogAnswer} answer @returns {Promise<void>} rejects if the dialog has gone */
export function answerHeld(tabId, answer) {
  const current = holds.get(tabId)?.current;
  if (!current) throw noDialog(tabId);
  return new Promise((resolve, reject) => {
    current.give({ ...answer, done: (failed) => { if (failed === undefined) resolve(); else reject(failed); } });
  });
}

/** @param {number} tabId */
export function noDialog(tabId) {
  return new ActionError('no_dialog', `no command waits for a dialog in tab ${tabId}`, undefined, { mayHaveRun: false });
}
