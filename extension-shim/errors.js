// @ts-check
// How an action says that it failed. The code is for programs, the message names the next step.

/** @import {ErrorCode} from './protocol.js' */

export class ActionError extends Error {
  /** @param {ErrorCode} code @param {string} message @param {string} [pageStack] the page's stack, not ours */
  constructor(code, message, pageStack) {
    super(message);
    this.code = code;
    this.pageStack = pageStack;
  }
}

/** @param {number} timeoutMs */
export function executionTimeout(timeoutMs) {
  return new ActionError('execution_timeout', `execution exceeded ${timeoutMs / 1000} s`);
}

/** @param {unknown} error chrome.* APIs reject with Error, but not only */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
