// @ts-check
// The errors of actions. The daemon knows the next step for each code; an error with a better one has a hint.

/** @import {ErrorCode} from '../../types/protocol.js' */

export class ActionError extends Error {
  /**
   * @param {ErrorCode} code @param {string} message @param {string} [pageStack] the page's stack, not ours
   * @param {{hint?: string, mayHaveRun?: boolean, about?: {tabId: number, message: string, hint?: string}}} [more] the next step; whether
   *   anything has begun in the page; `about`: another tab that it names, and the words for whoever may not see that tab
   */
  constructor(code, message, pageStack, more = {}) {
    super(message);
    this.code = code;
    this.pageStack = pageStack;
    this.more = more;
  }

  /** The same of a command that was under way. @param {{ran: boolean}} so whether it had begun */
  after({ ran }) {
    return new ActionError(this.code, this.message, this.pageStack, { ...this.more, mayHaveRun: ran });
  }
}

/** @param {number} timeoutMs @param {string} [note] on the state of the tab */
export function executionTimeout(timeoutMs, note = '') {
  return new ActionError('execution_timeout', `execution exceeded ${timeoutMs / 1000} s${note}`);
}

/** @param {string} why such as "tab 7 is not open" */
export function noSuchTab(why) {
  return new ActionError('no_such_tab', why);
}

/** @param {string} ref that no element has */
export function unknownRef(ref) {
  const { message, hint } = unknownRefWords(ref);
  return new ActionError('stale_ref', message, undefined, { hint });
}

/** @param {string} ref */
function unknownRefWords(ref) {
  return { message: `no element of this browser has the ref ${ref}`, hint: 'Take a snapshot: it has the refs of the page.' };
}

/** @param {string} ref of an element of one tab @param {number} ofTab @param {number} tabId in which it was looked for */
export function refOfOtherTab(ref, ofTab, tabId) {
  return new ActionError('stale_ref', `${ref} is an element of tab ${ofTab}, not of tab ${tabId}`, undefined, {
    hint: `Call again with tab_id ${ofTab}.`, about: { tabId: ofTab, ...unknownRefWords(ref) },
  });
}

/** @param {number} tabId */
export function closedMeanwhile(tabId) {
  return new ActionError('tab_closed', `tab ${tabId} was closed while the command ran`);
}

/** @param {number} tabId @param {number} idNow */
export function discardedMeanwhile(tabId, idNow) {
  return new ActionError('tab_discarded', `the browser unloaded the page of tab ${tabId} to save memory while the command ran; the tab is ${idNow} now`);
}

/** @param {number} tabId */
export function crashedTab(tabId) {
  return new ActionError('tab_crashed', `the page of tab ${tabId} has crashed`);
}

export class ForeignFrameError extends ActionError {
  /** @param {string} whose frame @param {{why?: string, mayHaveRun?: boolean}} so */
  constructor(whose, { why = '', mayHaveRun = false }) {
    const told = why ? `: ${why}` : '';
    super('foreign_extension_frame', `the page holds a frame of ${whose}, and the browser keeps other extensions' debuggers out of the tab meanwhile${told}`, undefined, { mayHaveRun });
    this.whose = whose;
    this.why = why;
  }
}

/** @param {string} whose @param {{why?: string, mayHaveRun?: boolean}} [so] why the frame is there still */
export function foreignFrame(whose, so = {}) {
  return new ForeignFrameError(whose, so);
}

export function navigationInterrupted() {
  return new ActionError('navigation_interrupted', 'the page navigated while the command ran');
}

/** @param {unknown} error chrome.* APIs reject with Error, but not only */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
