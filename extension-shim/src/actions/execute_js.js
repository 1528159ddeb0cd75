// @ts-check
// Runs a script in the page's own world, as a rule through the debugger: content policies do not apply there. At most
// once: another form of it is tried only if the compiler has refused the one before. Where it ran is the browser's word.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {Form} from '../scripts/script_forms.js' */
/** @import {Watcher} from '../browser/debugger.js' */
/** @import {Fence} from '../browser/site_guard.js' */

import { attach, cdp, commandError, isDismissed, isHeld, withFocus } from '../browser/debugger.js';
import { meetDialogs } from '../browser/dialogs.js';
import { withHeldDocuments } from '../browser/held_documents.js';
import { FOCUS_LINGER_MS } from '../browser/limits.js';
import { paintingIfLong } from '../browser/painting.js';
import { assertPage, fenceFor } from '../browser/site_guard.js';
import { policy, tabs } from '../browser/state.js';
import { unstick } from '../browser/unstick.js';
import { RESULT_MAX_BYTES } from '../commands/limits.js';
import { checkedFlag } from '../commands/params.js';
import { tooLarge } from '../commands/report.js';
import { ActionError, executionTimeout, navigationInterrupted } from '../lib/errors.js';
import { assertReachable, originOf } from '../policy/pages.js';
import { fileIn } from '../policy/sites.js';
import { checkedAnswer } from '../scripts/page_answer.js';
import { Heartbeat } from '../scripts/heartbeat.js';
import * as forms from '../scripts/script_forms.js';
import { runAsUserScript, stillBusyNote, userScriptsAllowed } from '../scripts/user_scripts.js';

/** The page keeps the result of an evaluation until its group is released. */
const GROUP = 'tabwire';
/** Stands for an evaluation whose fence found another page than it was made for: nothing of the script has run. */
const ELSEWHERE = Symbol('elsewhere');

/**
 * @typedef {object} Run
 * @property {number} tabId
 * @property {string} script
 * @property {number} timeout in ms
 * @property {() => void} begin
 * @property {(url: string) => void} admitAct throws if a script may not run on a page of this address
 * @property {string | null} hook the global name of the script's AbortController, if the script names `tabwireSignal`
 * @property {boolean} userGesture whether the page may take it for something that the person does
 *
 * @typedef {Run & {fence: Fence, origin: string | undefined}} PlacedRun for one page only
 */

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function execute_js({ script, user_gesture }, context) {
  const { tab_id, timeout_ms, begin, onStop, admitAct } = context;
  if (typeof script !== 'string') throw new ActionError('invalid_params', 'script must be a string');
  const userGesture = checkedFlag('user_gesture', user_gesture);
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  const run = { tabId: tab.id, script, timeout: timeout_ms, begin, admitAct, hook: forms.hookFor(script), userGesture };
  if (isDismissed(tab.id) && userScriptsAllowed()) return runWithoutDebugger(run, onStop);
  const heartbeat = new Heartbeat(tab.id);
  // Before the attach, which waits for as long as the tab waits for a server.
  onStop((why) => unstick(tab.id, { word: forms.abortWord(run.hook, why), silentMs: heartbeat.silentMs() }));
  await attach(tab.id);
  /** @type {Watcher} */
  const watcher = { dialogs: [] };
  heartbeat.start();
  try {
    const outcome = await meetDialogs(context, tab.id, watcher, () => withHeldDocuments(tab.id, context.signal, () => withFocus(tab.id, () => paintingIfLong(tab.id, () => runWhereItIs(run, tab.url)), FOCUS_LINGER_MS)));
    return { ...outcome, dialogs: watcher.dialogs };
  } finally {
    heartbeat.stop();
    if (run.hook) cdp(tab.id, 'Runtime.evaluate', { expression: forms.forgetHook(run.hook) }).catch(console.debug);
  }
}

/** @param {Run} run @param {Context['onStop']} onStop @returns {Promise<Outcome>} */
async function runWithoutDebugger(run, onStop) {
  if (run.userGesture) {
    throw new ActionError('debugger_unavailable',
      'the person closed the debugger bar, and without it no user_gesture can be given', undefined,
      { mayHaveRun: false, hint: 'Leave user_gesture out, or ask the person to click "Give control back" in the Tabwire popup; then call again.' });
  }
  onStop((why) => stillBusyNote(run.tabId, forms.abortWord(run.hook, why)));
  run.begin();
  const { form, answer, url } = await runAsUserScript(run.tabId, run.script, run.hook, run.admitAct);
  return outcomeOf({ ...run, origin: originOf(url) }, form, answer);
}

/**
 * The script is wrapped for the page that the browser reports, and first checks its own location: so the
 * origin of its result is known without a word of the page. Where every site may be used, a web page need not be looked
 * at: the URL from events is enough, and if they are late, nothing runs before it is looked at.
 * @param {Run} run @param {string | undefined} told the page's URL, as the events have it @returns {Promise<Outcome>}
 */
async function runWhereItIs(run, told) {
  const isKnown = policy.allowsEverySite && /^https?:/.test(told ?? '');
  const url = isKnown && told || await urlNow(run.tabId);
  const outcome = await evaluate(placedAt(run, url))
    ?? (isKnown ? await evaluate(placedAt(run, await urlNow(run.tabId))) : null);
  // A script can have a local page load a file from anywhere, and put its content into the result.
  if (outcome && fileIn(url) !== null) await urlNow(run.tabId, { ran: true });
  if (outcome) return outcome;
  // If the new page is closed to agents, the error is that one.
  await urlNow(run.tabId);
  const { code, message } = navigationInterrupted();
  throw new ActionError(code, message, undefined, { mayHaveRun: false });
}

/** @param {number} tabId @param {{ran?: boolean}} [so] @returns {Promise<string>} the URL of the page, which agents may use */
async function urlNow(tabId, so) {
  try {
    return await assertPage(tabId, so);
  } catch (error) {
    if (error instanceof ActionError) throw error;
    throw await commandError(error, tabId, await tabs.isOpen(tabId));
  }
}

/** @param {Run} run @param {string} url @returns {PlacedRun} */
function placedAt(run, url) {
  // Before its first page a tab has none.
  const at = URL.canParse(url) ? url : 'about:blank';
  run.admitAct(at);
  return { ...run, fence: fenceFor(at), origin: originOf(at) };
}

/** @param {PlacedRun} run @returns {Promise<Outcome | null>} null: another page is there, and nothing has run */
async function evaluate(run) {
  const startedAt = performance.now();
  try {
    const value = forms.beginsAsStatement(run.script) ? null : await runAsExpression(run);
    return value ?? await runAsStatements(run) ?? await runAsBody(run);
  } catch (error) {
    if (error === ELSEWHERE) return null;
    if (error instanceof ActionError) throw error;
    // A script ended by the protocol's own timer fails as "Internal error": only the elapsed time shows it.
    if (performance.now() - startedAt >= run.timeout) throw executionTimeout(run.timeout);
    throw await commandError(error, run.tabId, await tabs.isOpen(run.tabId));
  }
}

/**
 * Whether a form was refused by the compiler, so that nothing of it has run. Only then is there an exception at once,
 * which names the script: the wrapper around the script throws nothing, and a later rejection names no script.
 * @param {any} failed
 */
function isRefusedByCompiler({ scriptId, exception }) {
  return scriptId !== undefined && exception?.className === 'SyntaxError';
}

/** @param {PlacedRun} run @returns {Promise<Outcome | null>} null: it does not compile */
async function runAsExpression(run) {
  const form = behind(run, forms.asExpression(run.script, run.hook));
  const { result, exceptionDetails: failed } = await evaluateForm(run, form, { returnByValue: true });
  return failed && isRefusedByCompiler(failed) ? null : outcomeOf(run, form, failed ? null : result.value);
}

/** @param {PlacedRun} run @returns {Promise<Outcome | null>} null: it does not compile; a `return` is for functions only */
async function runAsStatements(run) {
  const form = behind(run, forms.asStatements(run.script, run.hook));
  try {
    const { result, exceptionDetails: failed } = await evaluateForm(run, form, { replMode: true });
    if (!failed) return outcomeOf(run, form, await encode(run, result, 'return'));
    return isRefusedByCompiler(failed) ? null : outcomeOf(run, form, await encode(run, failed.exception, 'throw'));
  } finally {
    cdp(run.tabId, 'Runtime.releaseObjectGroup', { objectGroup: GROUP }).catch(console.debug);
  }
}

/** @param {PlacedRun} run @returns {Promise<Outcome>} */
async function runAsBody(run) {
  const form = behind(run, forms.asFunctionBody(run.script, run.hook));
  const { result, exceptionDetails: failed } = await evaluateForm(run, form, { returnByValue: true });
  if (failed && isRefusedByCompiler(failed)) throw await syntaxError(run, failed);
  return outcomeOf(run, form, failed ? null : result.value);
}

/** @param {PlacedRun} run @param {Form} form @returns {Form} */
function behind({ fence }, { prefix, expression }) {
  return { prefix: fence.head + prefix, expression: fence.head + expression };
}

/** @param {PlacedRun} run @param {Form} form @param {object} options @throws {ELSEWHERE} */
async function evaluateForm({ tabId, timeout, begin, fence, userGesture }, { expression }, options) {
  begin();
  const common = { awaitPromise: true, userGesture, objectGroup: GROUP };
  const evaluated = await cdp(tabId, 'Runtime.evaluate', { expression, timeout, ...common, ...options });
  if (evaluated.exceptionDetails?.exception?.value === fence.mark) throw ELSEWHERE;
  return evaluated;
}

/**
 * @param {Run} run @param {any} remote the protocol's description of a value @param {'return' | 'throw'} how
 * @returns {Promise<unknown>} the page's answer
 */
async function encode({ tabId }, { objectId, type, value, unserializableValue }, how) {
  const options = { awaitPromise: true, returnByValue: true };
  if (objectId !== undefined) {
    // Strict, or a symbol would arrive wrapped in an object.
    const functionDeclaration = `function(){'use strict';return ${forms.encodeExpression(how, 'this')}}`;
    return (await cdp(tabId, 'Runtime.callFunctionOn', { objectId, functionDeclaration, ...options })).result.value;
  }
  const literal = type === 'undefined' ? 'undefined' : unserializableValue ?? JSON.stringify(value);
  const expression = forms.encodeExpression(how, literal);
  return (await cdp(tabId, 'Runtime.evaluate', { expression, ...options })).result.value;
}

/** @param {{script: string, origin: string | undefined}} run @param {Form} form @param {unknown} given the page's answer, unchecked @returns {Outcome} */
function outcomeOf({ script, origin }, form, given) {
  const answer = checkedAnswer(given);
  if ('full' in answer) throw tooLarge(`more than ${RESULT_MAX_BYTES} bytes`);
  if ('threw' in answer) {
    const { message, stack } = answer.threw;
    throw new ActionError('script_threw', message, stack && forms.scriptStack(stack, script, form));
  }
  const { type, value } = answer;
  return { type, value, origin };
}

/**
 * The bare script is compiled for its better words: in a form, an unfinished script stumbles over our brace.
 * @param {Run} run @param {any} failed the compiler's error for the form
 */
async function syntaxError({ tabId, script }, failed) {
  const params = { expression: script, sourceURL: '', persistScript: false };
  // Of commands only this needs the agent; enabled for longer it would report every context of every page.
  await cdp(tabId, 'Runtime.enable');
  const { exceptionDetails: bare } = await cdp(tabId, 'Runtime.compileScript', params);
  if (!isHeld(tabId)) cdp(tabId, 'Runtime.disable').catch(console.debug);
  const allowedInForm = /await is only valid|Illegal return/.test(bare?.exception.description ?? '');
  const { exception, lineNumber } = bare && !allowedInForm ? bare : failed;
  const line = Math.min(lineNumber + 1, script.split('\n').length);
  const [message] = exception.description.split('\n');
  return new ActionError('syntax_error', `${message} (line ${line} of the script)`);
}
