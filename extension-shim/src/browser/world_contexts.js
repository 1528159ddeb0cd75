// @ts-check
// Elements for the debugger: the isolated world of our own content scripts hands them over, since the debugger can speak
// in that world too. The page cannot reach it, so no element can be put in place of the one that was chosen.

import { within } from '../lib/within.js';
import { cdp, isHeld } from './debugger.js';
import { FRAME_ANSWER_MS } from './limits.js';

/**
 * @typedef {object} WorldContext our own world in one document
 * @property {string | undefined} sessionId of the process of the document; undefined: that of the page
 * @property {number} id in its process
 * @property {string} uniqueId a number of another process is never taken for it
 * @property {string} frameId as the debugger has it
 *
 * @typedef {{objectId: string, context: WorldContext}} HandedElement
 */

export class WorldContexts {
  /** Of each tab. @type {Map<number, WorldContext[]>} */
  #known = new Map();
  /** Processes of frames, of each tab. @type {Map<number, Set<string>>} */
  #processes = new Map();
  /** @type {Map<number, (chosen: {sessionId: string | undefined, frameId: string, backendNodeId?: number}) => void>} */
  #choosers = new Map();

  /** @param {chrome.debugger.DebuggerSession} source @param {string} method @param {any} params */
  handleEvent({ tabId, sessionId }, method, params) {
    if (tabId === undefined) return;
    const known = this.#known.get(tabId) ?? [];
    const keep = (/** @type {(one: WorldContext) => boolean} */ stays) => this.#known.set(tabId, known.filter(stays));
    if (method === 'Runtime.executionContextCreated' && params.context.origin === `chrome-extension://${chrome.runtime.id}`) {
      this.#known.set(tabId, [...known, { sessionId, id: params.context.id, uniqueId: params.context.uniqueId, frameId: params.context.auxData?.frameId }]);
    }
    if (method === 'Runtime.executionContextDestroyed') keep((one) => one.sessionId !== sessionId || one.id !== params.executionContextId);
    if (method === 'Runtime.executionContextsCleared') keep((one) => one.sessionId !== sessionId);
    if (method === 'Target.attachedToTarget' && params.targetInfo.type === 'iframe') this.#processesOf(tabId).add(params.sessionId);
    if (method === 'Target.detachedFromTarget') {
      this.#processesOf(tabId).delete(params.sessionId);
      keep((one) => one.sessionId !== params.sessionId);
    }
    if (method === 'Page.fileChooserOpened') this.#choosers.get(tabId)?.({ sessionId, ...params });
  }

  /** @param {number} tabId */
  handleDetach(tabId) {
    this.#known.delete(tabId);
    this.#processes.delete(tabId);
  }

  /** @param {number} tabId */
  #processesOf(tabId) {
    const processes = this.#processes.get(tabId) ?? new Set();
    this.#processes.set(tabId, processes);
    return processes;
  }

  /**
   * Has the debugger know our own worlds in all frames of a tab while `run` lasts.
   * @template T @param {number} tabId @param {() => Promise<T>} run @returns {Promise<T>}
   */
  async during(tabId, run) {
    // While nothing is recorded, nobody has told of contexts that are gone.
    if (!isHeld(tabId)) this.#known.delete(tabId);
    try {
      await cdp(tabId, 'Runtime.enable');
      // The browser names the contexts once: a former worker may have been told.
      if (!this.#known.get(tabId)?.length) {
        await cdp(tabId, 'Runtime.disable');
        await cdp(tabId, 'Runtime.enable');
      }
      await setAutoAttach(tabId, true);
      await this.#enterProcesses(tabId);
      return await run();
    } finally {
      await setAutoAttach(tabId, false).catch(console.debug);
      this.#processes.delete(tabId);
      if (!isHeld(tabId)) {
        await cdp(tabId, 'Runtime.disable').catch(console.debug);
        this.#known.delete(tabId);
      }
    }
  }

  /** Frames of other sites have processes, and sessions, of their own, and may have such frames in them. @param {number} tabId */
  async #enterProcesses(tabId) {
    const entered = new Set();
    for (;;) {
      const fresh = [...this.#processesOf(tabId)].filter((sessionId) => !entered.has(sessionId));
      if (fresh.length === 0) return;
      await Promise.all(fresh.map((sessionId) => {
        entered.add(sessionId);
        // A frame that hangs is left out.
        const told = Promise.all([cdp(tabId, 'Runtime.enable', {}, sessionId), setAutoAttach(tabId, true, sessionId)]);
        return within(FRAME_ANSWER_MS, told).catch(console.debug);
      }));
    }
  }

  /** The element that one of our worlds keeps under a secret. @param {number} tabId @param {string} secret @returns {Promise<HandedElement | null>} */
  async fetch(tabId, secret) {
    const expression = `Object.hasOwn(globalThis,"tabwireWorld")?tabwireWorld("handed",${JSON.stringify(secret)}):null`;
    for (const context of this.#known.get(tabId) ?? []) {
      const asked = cdp(tabId, 'Runtime.evaluate', { expression, uniqueContextId: context.uniqueId }, context.sessionId);
      const { result } = await within(FRAME_ANSWER_MS, asked).catch(() => ({ result: undefined }));
      if (result?.objectId) return { objectId: result.objectId, context };
    }
    return null;
  }

  /** An element that the debugger names, as our world in its document has it. @param {number} tabId @param {{sessionId: string | undefined, frameId: string, backendNodeId: number}} node @returns {Promise<HandedElement | null>} */
  async resolve(tabId, { sessionId, frameId, backendNodeId }) {
    const context = (this.#known.get(tabId) ?? []).find((one) => one.sessionId === sessionId && one.frameId === frameId);
    if (!context) return null;
    const { object } = await cdp(tabId, 'DOM.resolveNode', { backendNodeId, executionContextId: context.id }, sessionId);
    return { objectId: object.objectId, context };
  }

  /** Asks our world about an element. @param {number} tabId @param {HandedElement} element @param {string} name @returns {Promise<any>} */
  async ask(tabId, { objectId, context }, name) {
    const params = { objectId, functionDeclaration: 'function(name){return tabwireWorld(name,this)}', arguments: [{ value: name }], returnByValue: true };
    const { result, exceptionDetails } = await cdp(tabId, 'Runtime.callFunctionOn', params, context.sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /**
   * The field for which the page opens a file chooser while `act` lasts or soon after. No chooser is shown. Those of the
   * page's own process stay away until the act ends that this is a part of.
   * @param {number} tabId @param {() => Promise<unknown>} act @param {number} ms @param {AbortSignal} signal
   * @returns {Promise<{sessionId: string | undefined, frameId: string, backendNodeId?: number} | null>}
   */
  async chooserDuring(tabId, act, ms, signal) {
    const frames = [...this.#processesOf(tabId)];
    const set = (/** @type {string} */ method, /** @type {object} */ params, /** @type {(string | undefined)[]} */ of) =>
      Promise.all(of.map((sessionId) => within(FRAME_ANSWER_MS, cdp(tabId, method, params, sessionId)).catch(console.debug)));
    const intercept = 'Page.setInterceptFileChooserDialog';
    // Without it the process of a frame tells of no chooser. That of the page has it on.
    await set('Page.enable', {}, frames);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    try {
      await set(intercept, { enabled: true }, [undefined, ...frames]);
      /** @type {Promise<any>} */
      const opened = new Promise((resolve) => { this.#choosers.set(tabId, resolve); });
      await act();
      signal.throwIfAborted();
      const late = new Promise((resolve) => { timer = setTimeout(resolve, ms, null); });
      const ended = new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason), { once: true }); });
      return await Promise.race([opened, late, ended]);
    } finally {
      clearTimeout(timer);
      this.#choosers.delete(tabId);
      await set(intercept, { enabled: false }, frames);
    }
  }
}

/** @param {number} tabId @param {boolean} autoAttach @param {string} [sessionId] @returns {Promise<unknown>} */
function setAutoAttach(tabId, autoAttach, sessionId) {
  return cdp(tabId, 'Target.setAutoAttach', { autoAttach, waitForDebuggerOnStart: false, flatten: true }, sessionId);
}

export const worldContexts = new WorldContexts();
