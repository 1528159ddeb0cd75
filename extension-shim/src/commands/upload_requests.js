// @ts-check
// Asks the daemon for copies of the files that a running command gives to a page: the extension cannot read files.

/** @import {AttemptRef, UploadCopiesFrame, UploadCopy} from '../../types/protocol.js' */

import { ActionError } from '../lib/errors.js';

/**
 * @typedef {object} OpenUpload
 * @property {() => AttemptRef} ref of the command, as it is now
 * @property {string[]} paths
 * @property {string} site
 * @property {(copies: UploadCopy[]) => void} resolve
 * @property {(error: unknown) => void} reject
 */

export class UploadRequests {
  #last = 0;
  /** @type {Map<number, OpenUpload>} */
  #open = new Map();
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /**
   * @param {() => AttemptRef} ref @param {AbortSignal} signal @param {string[]} paths @param {string} site the origin of the page that gets the files
   * @returns {Promise<UploadCopy[]>} in the order of the paths
   */
  request(ref, signal, paths, site) {
    this.#last += 1;
    const request = this.#last;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      this.#open.set(request, { ref, paths, site, resolve, reject });
      signal.addEventListener('abort', () => {
        this.#open.delete(request);
        reject(signal.reason);
      }, { once: true });
      this.#send(request);
    });
  }

  /** @param {number} request */
  #send(request) {
    const open = this.#open.get(request);
    if (!open) return;
    const { ref, paths, site } = open;
    this.send(JSON.stringify({ type: 'upload_request', request, ...ref(), paths, site }));
  }

  /** A link was lost, and with it perhaps a request or its answer. */
  handleConnected() {
    for (const request of this.#open.keys()) this.#send(request);
  }

  /** @param {UploadCopiesFrame} frame */
  handleCopies({ request, files, error }) {
    const open = this.#open.get(request);
    this.#open.delete(request);
    if (error) open?.reject(new ActionError(error.code, error.message, undefined, { hint: error.hint }));
    else open?.resolve(files);
  }
}
