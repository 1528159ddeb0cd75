// @ts-check
// In which documents the person's clipboard is kept from pages. A click of an agent lets a page use it as a click of the
// person does. In a tab that the person does not look at they copy nothing, so all copies there are of agents' acts.

/** @import {SeenDocument} from './page_world.js' */

import { replaceClipboard } from '../injected/page_clipboard.js';
import { CLIPBOARD_GUARD_LEFT_MS, CLIPBOARD_GUARD_MS, GUARDED_DOCUMENTS_MAX, PASTE_GUARD_MS } from './limits.js';
import { askFrames } from './page_world.js';

class ClipboardGuards {
  /** The type of the events by which a page's `navigator.clipboard` asks the guard. */
  #channel = crypto.randomUUID();
  /** By document, the oldest first. @type {Map<string, {document: SeenDocument, tabId: number, until: number}>} */
  #guarded = new Map();

  /** Before an act in a tab that the person does not look at. @param {number} tabId @param {SeenDocument[]} documents */
  async cover(tabId, documents) {
    const now = Date.now();
    const known = (/** @type {SeenDocument} */ { documentId }) => this.#guarded.get(documentId);
    const due = documents.filter((document) => (known(document)?.until ?? 0) - now < CLIPBOARD_GUARD_LEFT_MS);
    if (due.length === 0) return;
    const untouched = due.filter((document) => !known(document));
    for (const document of due) this.#keep({ document, tabId, until: now + CLIPBOARD_GUARD_MS });
    const guard = { channel: this.#channel, ms: CLIPBOARD_GUARD_MS, isPasteOnly: false };
    await Promise.all([this.#replace(tabId, untouched), askFrames(tabId, due, 'coverClipboard', guard)]);
  }

  /** Before a click of the middle button: it pastes, where the system has a selection for that. @param {number} tabId @param {SeenDocument} document */
  async coverPaste(tabId, document) {
    if ((this.#guarded.get(document.documentId)?.until ?? 0) > Date.now()) return;
    await askFrames(tabId, [document], 'coverClipboard', { channel: this.#channel, ms: PASTE_GUARD_MS, isPasteOnly: true });
  }

  /** The person looks at a tab: their copies there are theirs. @param {number} tabId */
  lift(tabId) {
    const now = Date.now();
    const covered = [...this.#guarded.values()].filter((guarded) => guarded.tabId === tabId && guarded.until > now);
    for (const guarded of covered) guarded.until = 0;
    askFrames(tabId, covered.map(({ document }) => document), 'liftClipboard').catch(console.debug);
  }

  /** @param {{document: SeenDocument, tabId: number, until: number}} guarded */
  #keep(guarded) {
    this.#guarded.delete(guarded.document.documentId);
    this.#guarded.set(guarded.document.documentId, guarded);
    const [oldest] = this.#guarded.keys();
    if (this.#guarded.size > GUARDED_DOCUMENTS_MAX) this.#guarded.delete(oldest);
  }

  /** @param {number} tabId @param {SeenDocument[]} documents whose `navigator.clipboard` does not ask yet */
  async #replace(tabId, documents) {
    if (documents.length === 0) return;
    const target = { tabId, documentIds: documents.map(({ documentId }) => documentId) };
    // A frame that has gone meanwhile copies nothing.
    await chrome.scripting.executeScript(/** @type {any} */ ({ target, world: 'MAIN', injectImmediately: true, func: replaceClipboard, args: [this.#channel] })).catch(console.debug);
  }
}

export const clipboardGuards = new ClipboardGuards();
