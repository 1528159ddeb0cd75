// @ts-check
// Calls a tool that the page offers, if its definition is still the one that was listed. It may do anything that the page
// can do: its hints decide nothing.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {SeenDocument} from '../browser/page_world.js' */

import { attach } from '../browser/debugger.js';
import { meetDialogs } from '../browser/dialogs.js';
import { withHeldDocuments } from '../browser/held_documents.js';
import { definitionHash, noPageTools } from '../browser/page_tools.js';
import { askDocument, askFrames, documentsOf, judgedAddress } from '../browser/page_world.js';
import { documentNow } from '../browser/site_guard.js';
import { tabEvents, tabs } from '../browser/state.js';
import { checkedText } from '../commands/params.js';
import { ActionError, navigationInterrupted } from '../lib/errors.js';
import { assertReachable, originOf } from '../policy/pages.js';

/**
 * @typedef {{isMissing: true} | {isChanged: true} | {failure: string} | {result: string, isCut: boolean}} ToolAnswer
 * @typedef {{tabId: number, document: SeenDocument, name: string}} CalledTool
 */

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function call_page_tool({ name, document: documentId, hash, arguments: input = {} }, context) {
  const { tab_id, signal, begin, admitAct } = context;
  const [wanted, id, expected] = [checkedText('name', name), checkedText('document', documentId), checkedText('hash', hash)];
  if (input === null || typeof input !== 'object' || Array.isArray(input)) throw new ActionError('invalid_params', 'arguments must be an object');
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  // For the dialogs that the tool may open. Where the debugger cannot be had, it works without.
  await attach(tab.id).catch(console.debug);
  const { seen } = await documentsOf(tab.id);
  const document = seen.find((one) => one.documentId === id);
  if (!document) throw changed(wanted, 'the document that offered it is not there any more');
  admitAct(judgedAddress(document));
  const called = { tabId: tab.id, document, name: wanted };
  const definition = await listedDefinition(called, expected);
  /** @type {import('../browser/debugger.js').Watcher} */
  const watcher = { dialogs: [] };
  begin();
  const answer = await meetDialogs(context, tab.id, watcher, () => withHeldDocuments(tab.id, signal, () => answerOf(called, { definition, input }, signal)));
  signal.throwIfAborted();
  await documentNow(tab.id);
  const value = valueOf(wanted, answer);
  return { value, type: 'object', origin: originOf(document.url), ...(watcher.dialogs.length > 0 && { dialogs: watcher.dialogs }) };
}

/** @param {CalledTool} called @param {string} hash @returns {Promise<string>} */
async function listedDefinition({ tabId, document, name }, hash) {
  const listed = await askDocument(tabId, document, 'pageTools');
  if (listed.isMissing) throw noPageTools();
  const ofName = listed.definitions.filter((/** @type {string} */ one) => JSON.parse(one).name === name);
  if (ofName.length === 0) throw changed(name, 'the page does not offer it any more');
  for (const definition of ofName) if (await definitionHash(definition) === hash) return definition;
  throw changed(name, 'the page has changed its definition since it was listed');
}

/** @param {CalledTool} called @param {{definition: string, input: object}} asked @param {AbortSignal} signal @returns {Promise<ToolAnswer>} */
async function answerOf({ tabId, document }, asked, signal) {
  const stop = () => { askFrames(tabId, [document], 'stopPageTool').catch(console.debug); };
  signal.addEventListener('abort', stop, { once: true });
  let stopListening = () => {};
  // A tool that navigates never answers.
  const gone = new Promise((_, reject) => {
    stopListening = tabEvents.listen(tabId, async () => {
      const frame = await chrome.webNavigation.getFrame({ tabId, frameId: document.frameId }).catch(() => null);
      if (frame?.documentId !== document.documentId) reject(left());
    });
  });
  try {
    return await Promise.race([askDocument(tabId, document, 'callPageTool', asked), /** @type {Promise<never>} */ (gone)]);
  } finally {
    stopListening();
    signal.removeEventListener('abort', stop);
  }
}

/** @param {string} name @param {ToolAnswer} answer */
function valueOf(name, answer) {
  if ('isMissing' in answer) throw noPageTools();
  if ('isChanged' in answer) throw changed(name, 'the page has changed its definition since it was listed');
  if ('failure' in answer) throw new ActionError('script_threw', `the page's tool ${name} failed: ${answer.failure}`, undefined, { mayHaveRun: true, hint: 'Look at the page, and at the schema of the tool in page_tools, before you call again.' });
  return { result: parsed(answer.result), ...(answer.isCut && { is_cut: true }) };
}

/** @param {string} result @returns {unknown} */
function parsed(result) {
  try {
    return JSON.parse(result);
  } catch {
    return result;
  }
}

/** @param {string} name @param {string} why */
function changed(name, why) {
  return new ActionError('page_tool_changed', `${name} was not called: ${why}`, undefined, { mayHaveRun: false });
}

function left() {
  const { code, message } = navigationInterrupted();
  return new ActionError(code, message, undefined, { mayHaveRun: true, hint: 'The tool may have done its work: look at the page that is there now.' });
}
