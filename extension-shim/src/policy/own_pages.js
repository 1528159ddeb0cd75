// @ts-check
// Tabwire's own pages: those of the daemon, by every name of this computer, and those of this extension. They are the
// person's alone: no command touches one, no list names one, and no rule changes that.

import { ActionError } from '../lib/errors.js';
import { shownPlace } from './sites.js';

export class OwnPages {
  /** Of the daemon; null before one has proven itself, and until then no command comes. @type {number | null} */
  #port = null;

  /** @param {number} port of the daemon that has proven itself */
  setPort(port) {
    this.#port = port;
  }

  /** @param {string} url @returns {boolean} whether it shows or holds one of them */
  covers(url) {
    if (url === '') return false;
    const { scheme, host, port, isHere } = shownPlace(url);
    if (scheme === 'chrome-extension') return host === ownId();
    return isHere && this.#port !== null && port === String(this.#port);
  }

  /** @param {{url?: string, pendingUrl?: string}} tab @returns {boolean} whether it shows one of them, or is on its way there */
  hasTab({ url = '', pendingUrl = '' }) {
    return this.covers(url) || this.covers(pendingUrl);
  }
}

/** The id of this extension, as it stands in the addresses of its pages. */
function ownId() {
  return new URL(chrome.runtime.getURL('')).hostname;
}

/** @param {boolean} ran whether the command may have begun */
export function ownPage(ran) {
  return new ActionError('tabwire_page', "agents may not use Tabwire's own pages", undefined, { mayHaveRun: ran });
}
