// @ts-check
// Asks the daemon for copies of the files that a running command gives to a page, and before that whether the person is
// to be asked about them: the extension cannot read files.

/** @import {AskedFile, AttemptRef, UploadCopiesFrame, UploadCopy} from '../../types/protocol.js' */

import { ActionError } from '../lib/errors.js';

/**
 * @typedef {object} OpenUpload
 * @property {() => AttemptRef} ref of the command, as it is now
 * @property {string[]} paths
 * @property {string} site
 * @property {boolean} look
 * @property {(answer: {files: UploadCopy[], asks?: AskedFile[]}) => void} resolve
 * @property {(error: unknown) => void} reject
 */

export class UploadRequests {
  #last = 0;
  /** @type {Map<number, OpenUpload>} */
  #open = new Map();
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;

  /**
   * @param {() => AttemptRef} ref @param {AbortSignal} signal @param {string[]} paths @param {string} site of the page that gets the files
   * @returns {Promise<UploadCopy[]>} in the order of the paths
   */
  async request(ref, signal, paths, site) {
    return (await this.#ask({ ref, paths, site, look: false }, signal)).files;
  }

  /**
   * @param {() => AttemptRef} ref @param {AbortSignal | undefined} signal @param {string[]} paths @param {string} site
   * @returns {Promise<AskedFile[]>} those about which the person is to be asked before the command may give them
   */
  async look(ref, signal, paths, site) {
    return (await this.#ask({ ref, paths, site, look: true }, signal)).asks ?? [];
  }

  /** @param {Omit<OpenUpload, 'resolve' | 'reject'>} asked @param {AbortSignal | undefined} signal @returns {Promise<{files: UploadCopy[], asks?: AskedFile[]}>} */
  #ask(asked, signal) {
    this.#last += 1;
    const request = this.#last;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#open.set(request, { ...asked, resolve, reject });
      signal?.addEventListener('abort', () => {
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
    const { ref, paths, site, look } = open;
    this.send(JSON.stringify({ type: 'upload_request', request, ...ref(), paths, site, ...(look && { look }) }));
  }

  /** A link was lost, and with it perhaps a request or its answer. */
  handleConnected() {
    for (const request of this.#open.keys()) this.#send(request);
  }

  /** @param {UploadCopiesFrame} frame */
  handleCopies({ request, files, asks, error }) {
    const open = this.#open.get(request);
    this.#open.delete(request);
    if (error) open?.reject(new ActionError(error.code, error.message, undefined, { hint: error.hint }));
    else open?.resolve({ files, asks });
  }
}
