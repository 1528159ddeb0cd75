// @ts-check
// A tab as lines of text with refs for its elements: all its frames, cut to a size, or only the lines that are
// different from the last time.

/** @import {DocumentAnswer, SeenDocument, TabDocuments} from './page_world.js' */

import { lineDiff } from '../lib/line_diff.js';
import { readRefLine } from '../lib/ref_line.js';
import { askDocuments, askFrames, documentsOf, withInner } from './page_world.js';
import { elementRefs, snapshots } from './state.js';

/**
 * @typedef {object} SnapshotWish
 * @property {{document: SeenDocument, id: number}} [root] absent: the whole page
 * @property {{interactiveOnly: boolean, depth?: number, boxes: boolean, urls: boolean}} options
 * @property {number} maxBytes of the text as JSON, as agents get it
 * @property {boolean} isDiff only the difference from the last one that the client was given
 * @property {string} client
 */

/** As of the page world: before the number of an element, and before the place of a frame at the end of a line. */
const MARK = { id: /\x01(\d+)/g, frame: '\x02' };

/**
 * @param {number} tabId @param {SnapshotWish} wish
 * @returns {Promise<string | null>} null: the element that it should begin with is gone
 */
export async function snapshotOf(tabId, { root, options, maxBytes, isDiff, client }) {
  const documents = await documentsOf(tabId);
  const [top, ...inner] = root ? withInner(documents.seen, root.document) : documents.seen;
  if (!top) return null;
  const [[first], frames] = await Promise.all([askDocuments(tabId, [top], 'snapshot', { ...options, id: root?.id }), askFrames(tabId, inner, 'snapshot', options)]);
  await elementRefs.restore();
  if (!first?.value.found) return root ? null : NOTHING;
  const lines = assemble(tabId, documents, first, frames);
  const told = JSON.stringify([root?.id, options]);
  const last = snapshots.last(client, tabId);
  snapshots.keep(client, { tabId, documentId: top.documentId, options: told, lines });
  const isSame = last?.documentId === top.documentId && last.options === told;
  const text = isDiff && isSame ? difference(last.lines, lines, maxBytes) : cut(lines, maxBytes);
  const note = first.value.found.isCut ? '\n… the page has more than is read at once: give a target' : '';
  return `${isDiff && !isSame ? 'No earlier snapshot of this page with these parameters: all of it.\n' : ''}${text}${note}`;
}

/**
 * The lines of a document with those of its frames in their places.
 * @param {number} tabId @param {TabDocuments} documents @param {DocumentAnswer} top @param {DocumentAnswer[]} frames @returns {string[]}
 */
function assemble(tabId, documents, top, frames) {
  const inner = new Map(frames.filter(({ value }) => value.found).map((answer) => [`${answer.document.parentFrameId} ${answer.value.place}`, answer]));
  const written = (/** @type {DocumentAnswer} */ { document, value }) => {
    const name = elementRefs.names(tabId, document.documentId, value.count);
    const text = value.found.text.replace(MARK.id, (/** @type {string} */ _, /** @type {string} */ id) => name(Number(id)));
    const lines = text === '' ? [] : text.split('\n');
    if (!text.includes(MARK.frame)) return lines;
    return lines.flatMap((/** @type {string} */ line) => {
      const at = line.lastIndexOf(MARK.frame);
      if (at < 0) return [line];
      const below = inner.get(`${document.frameId} ${line.slice(at + 1)}`);
      if (!below) return [line.slice(0, at) + unread(documents, document, line.slice(at + 1))];
      const indent = ' '.repeat(line.length - line.trimStart().length + 2);
      return [line.slice(0, at), ...written(below).map((/** @type {string} */ one) => indent + one)];
    });
  };
  return written(top);
}

/** @param {TabDocuments} documents @param {SeenDocument} around @param {string} place */
function unread({ denied }, around, place) {
  if (place === '-1') return '';
  return denied.has(around.frameId) ? ' (not read: a site rule closes it to agents, or it does not answer)' : ' (not read: it does not answer)';
}

/** @param {string[]} before @param {string[]} after @param {number} maxBytes */
function difference(before, after, maxBytes) {
  const lines = lineDiff(before, after, (line) => readRefLine(line)?.ref);
  return lines.length === 0 ? 'Nothing has changed.' : cut(lines, maxBytes);
}

/** A page may even have taken itself away. */
const NOTHING = 'Nothing is shown.';

/** The line that says how to go on is not longer. */
const CUT_NOTE_BYTES = 140;

/** Ends at a line, and says how to go on. @param {string[]} lines @param {number} maxBytes @returns {string} */
function cut(lines, maxBytes) {
  const encoder = new TextEncoder();
  const sizes = [];
  // A line ends with a line feed, which JSON writes as two bytes; the quotes stand around all of them.
  let bytes = 0;
  for (const line of lines) {
    bytes += encoder.encode(JSON.stringify(line)).length;
    sizes.push(bytes);
    if (bytes > maxBytes) break;
  }
  if (bytes <= maxBytes) return lines.join('\n') || NOTHING;
  const most = sizes.findLastIndex((size) => size <= maxBytes - CUT_NOTE_BYTES) + 1;
  const all = encoder.encode(JSON.stringify(lines.join('\n'))).length;
  return [...lines.slice(0, most), `… ${lines.length - most} more lines: give a part as target, interactive_only, depth, or max_bytes up to ${Math.ceil(all * 1.1)}`].join('\n');
}
