// @ts-check
// Tabs that show a PDF: the browser's own viewer draws it, and the document is empty.

import { askDocument, documentsOf } from './page_world.js';

/** @param {number} tabId @returns {Promise<string | null>} what works there, if the tab shows a PDF */
export async function pdfWords(tabId) {
  return askDocument(tabId, (await documentsOf(tabId)).seen[0], 'pdfWords');
}

/** The same as a field of an answer. @param {number} tabId @returns {Promise<{note?: string}>} */
export async function pdfNote(tabId) {
  const note = await pdfWords(tabId).catch(() => null);
  return note ? { note } : {};
}
