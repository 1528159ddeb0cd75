// @ts-check
// The tools that the documents of a tab offer to agents (WebMCP). Their definitions are words of the page.

/** @import {SeenDocument} from './page_world.js' */

import { clip } from '../lib/clip.js';
import { shortDigest } from '../lib/digest.js';
import { ActionError } from '../lib/errors.js';
import { PAGE_TOOL_DESCRIPTION_MAX, PAGE_TOOL_SCHEMA_MAX } from './limits.js';
import { askDocuments, documentsOf } from './page_world.js';

/** Names that are shown, and called, as they are. */
const PLAIN_NAME = /^[\w.:/-]{1,128}$/;

/**
 * @typedef {object} PageTool
 * @property {string} name
 * @property {string} [title]
 * @property {string} description
 * @property {unknown} [input_schema]
 * @property {string[]} [hints] those of the page that are set; nothing is decided by them
 * @property {string} [frame] the URL of the frame that offers it
 * @property {string} document
 * @property {string} hash of the whole definition
 */

/** @param {number} tabId @returns {Promise<{tools: PageTool[], leftOut: number, url: string}>} */
export async function pageToolsOf(tabId) {
  const { seen, url } = await documentsOf(tabId);
  const answers = await askDocuments(tabId, seen, 'pageTools');
  const offered = answers.filter(({ value }) => !value.isMissing);
  if (offered.length === 0) throw noPageTools();
  const listed = await Promise.all(offered.flatMap(({ document, value }) =>
    value.definitions.map((/** @type {string} */ definition) => toolOf(document, definition))));
  const tools = listed.filter((tool) => tool !== null);
  const total = offered.reduce((sum, { value }) => sum + value.total, 0);
  return { tools, leftOut: total - tools.length, url };
}

/** @param {SeenDocument} document @param {string} definition as the page world gives it @returns {Promise<PageTool | null>} null: it cannot be called by its name */
async function toolOf({ documentId, frameId, url }, definition) {
  const { name, title, description, inputSchema, annotations } = JSON.parse(definition);
  if (!PLAIN_NAME.test(name)) return null;
  const schema = inputSchema === undefined || JSON.stringify(inputSchema).length > PAGE_TOOL_SCHEMA_MAX ? undefined : inputSchema;
  const hints = Object.entries(annotations ?? {}).filter(([, isSet]) => isSet === true).map(([hint]) => clip(hint, 40));
  return {
    name, ...(title && { title: words(title) }), description: words(description), ...(schema !== undefined && { input_schema: schema }),
    ...(hints.length > 0 && { hints }), ...(frameId !== 0 && { frame: clip(url, PAGE_TOOL_DESCRIPTION_MAX) }),
    document: documentId, hash: await definitionHash(definition),
  };
}

/** @param {unknown} text @returns {string} one line, well-formed */
function words(text) {
  const line = String(text ?? '').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\s]+/gu, ' ').trim();
  return clip(line, PAGE_TOOL_DESCRIPTION_MAX);
}

/** @param {string} definition @returns {Promise<string>} */
export function definitionHash(definition) {
  return shortDigest(definition, 8);
}

/** The browser has no such interface, or keeps it from this page. */
export function noPageTools() {
  return new ActionError('unsupported', 'the page offers no tools: this browser has no WebMCP (document.modelContext), or not for this page', undefined, {
    hint: 'Use the page itself, beginning with a snapshot. WebMCP needs a page over HTTPS, and in this browser the person\'s switch chrome://flags/#enable-webmcp-testing.', mayHaveRun: false,
  });
}
