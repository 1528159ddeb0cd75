// @ts-check
// Runs a script in the page's own world, as a rule through the debugger: content policies do not apply there.

/** @import {Context, Outcome} from '../protocol.js' */
/** @import {PageAnswer} from '../page/run.js' */
/** @import {Form} from '../script_forms.js' */
/** @import {Watcher} from '../debugger.js' */
/** @import {Fence} from '../site_guard.js' */

import { attach, cdp, commandError, isDismissed, withDialogs } from '../debugger.js';
import { ActionError, executionTimeout, navigationInterrupted } from '../errors.js';
import { assertReachable } from '../pages.js';
import { RESULT_MAX_BYTES } from '../limits.js';
import { tooLarge } from '../report.js';
import { Pulse } from '../pulse.js';
import * as forms from '../script_forms.js';
import { assertPage, fenceFor, webFence } from '../site_guard.js';
import { policy, tabs } from '../state.js';
import { unstick } from '../unstick.js';
import { runAsUserScript, stillBusyNote, userScriptsAllowed } from '../user_scripts.js';

/** The page keeps what an evaluation gave until its group is released. */
const GROUP = 'tabwire';

/**
 * @typedef {object} Run
 * @property {number} tabId
 * @property {string} script
 * @property {number} timeout in ms
 * @property {() => void} begin
 * @property {string | null} hook what the page keeps the script's `tabwireSignal` under, if it names that
 * @property {Fence} [fence] it may not run everywhere
 */

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function execute_js({ script }, { tab_id, timeout_ms, begin, onStop }) {
  if (typeof script !== 'string') throw new ActionError('invalid_params', 'script must be a string');
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  const run = { tabId: tab.id, script, timeout: timeout_ms, begin, hook: forms.hookFor(script) };
  if (isDismissed(tab.id) && userScriptsAllowed()) return runWithoutDebugger(run, onStop);
  const pulse = new Pulse(tab.id);
  // Before the attach, which waits for as long as the tab waits for a server.
  onStop((why) => unstick(tab.id, { word: forms.abortWord(run.hook, why), silentMs: pulse.silentMs() }));
  await attach(tab.id);
  /** @type {Watcher} */
  const watcher = { dialogs: [] };
  pulse.start();
  try {
    const outcome = await withDialogs(tab.id, watcher, () => evaluateWhereAllowed(run));
    return { ...outcome, dialogs: watcher.dialogs };
  } finally {
    pulse.stop();
    if (run.hook) cdp(tab.id, 'Runtime.evaluate', { expression: forms.forgetHook(run.hook) }).catch(console.debug);
  }
}

/** @param {Run} run @param {Context['onStop']} onStop @returns {Promise<Outcome>} */
async function runWithoutDebugger(run, onStop) {
  onStop((why) => stillBusyNote(run.tabId, forms.abortWord(run.hook, why)));
  run.begin();
  const { form, answer } = await runAsUserScript(run.tabId, run.script, run.hook);
  return outcomeOf(run, form, answer);
}

/** Thrown before anything of a script has run: the page is no web page, and has to be looked at. */
class NoWebPage extends Error {}

/** @param {Run} run @returns {Promise<Outcome>} */
async function evaluateWhereAllowed(run) {
  if (!policy.allowsEverySite) return evaluate(await fenced(run));
  try {
    return await evaluate({ ...run, fence: webFence() });
  } catch (error) {
    if (!(error instanceof NoWebPage)) throw error;
    return evaluate(await fenced(run));
  }
}

/** @param {Run} run @returns {Promise<Run>} */
async function fenced(run) {
  try {
    return { ...run, fence: fenceFor(await assertPage(run.tabId)) };
  } catch (error) {
    if (error instanceof ActionError) throw error;
    throw commandError(error, run.tabId, await tabs.isOpen(run.tabId));
  }
}

/** @param {Run} run @returns {Promise<Outcome>} */
async function evaluate(run) {
  const startedAt = performance.now();
  try {
    const value = forms.beginsAsStatement(run.script) ? null : await runAsExpression(run);
    return value ?? await runAsStatements(run) ?? await runAsBody(run);
  } catch (error) {
    if (error instanceof ActionError || error instanceof NoWebPage) throw error;
    // A script ended by the protocol's own timer fails as "Internal error": the time tells.
    if (performance.now() - startedAt >= run.timeout) throw executionTimeout(run.timeout);
    throw commandError(error, run.tabId, await tabs.isOpen(run.tabId));
  }
}

/** @param {Run} run @returns {Promise<Outcome | null>} null: it does not compile */
async function runAsExpression(run) {
  const form = behind(run, forms.asExpression(run.script, run.hook));
  const { result, exceptionDetails } = await evaluateForm(run, form, { returnByValue: true });
  return exceptionDetails ? null : outcomeOf(run, form, result.value);
}

/** @param {Run} run @returns {Promise<Outcome | null>} null: it has a `return`, which only a function may */
async function runAsStatements(run) {
  const form = behind(run, forms.asStatements(run.script, run.hook));
  try {
    const { result, exceptionDetails: failed } = await evaluateForm(run, form, { replMode: true });
    if (!failed) return outcomeOf(run, form, await encode(run, result, 'return'));
    // Only what the compiler refuses names the script that it refused.
    if (failed.scriptId === undefined) return outcomeOf(run, form, await encode(run, failed.exception, 'throw'));
    if (/Illegal return/.test(failed.exception.description)) return null;
    throw await syntaxError(run, failed);
  } finally {
    cdp(run.tabId, 'Runtime.releaseObjectGroup', { objectGroup: GROUP }).catch(console.debug);
  }
}

/** @param {Run} run @returns {Promise<Outcome>} */
async function runAsBody(run) {
  const form = behind(run, forms.asFunctionBody(run.script, run.hook));
  const { result, exceptionDetails } = await evaluateForm(run, form, { returnByValue: true });
  if (exceptionDetails) throw await syntaxError(run, exceptionDetails);
  return outcomeOf(run, form, result.value);
}

/** @param {Run} run @param {Form} form @returns {Form} */
function behind({ fence }, { prefix, expression }) {
  return fence ? { prefix: fence.head + prefix, expression: fence.head + expression } : { prefix, expression };
}

/** @param {Run} run @param {Form} form @param {object} options */
async function evaluateForm({ tabId, timeout, begin, fence }, { expression }, options) {
  begin();
  const common = { awaitPromise: true, userGesture: true, objectGroup: GROUP };
  const evaluated = await cdp(tabId, 'Runtime.evaluate', { expression, timeout, ...common, ...options });
  if (fence && evaluated.exceptionDetails?.exception?.value === fence.mark) throw fence.isForWeb ? new NoWebPage() : await elsewhere(tabId);
  return evaluated;
}

/** Another page came before anything had run. @param {number} tabId */
async function elsewhere(tabId) {
  await assertPage(tabId);
  const { code, message } = navigationInterrupted();
  return new ActionError(code, message, undefined, { mayHaveRun: false });
}

/**
 * @param {Run} run @param {any} remote the protocol's description of a value @param {'return' | 'throw'} how
 * @returns {Promise<PageAnswer>}
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

/** @param {Run} run @param {Form} form @param {PageAnswer} answer @returns {Outcome} */
function outcomeOf({ script }, form, answer) {
  if ('full' in answer) throw tooLarge(`more than ${RESULT_MAX_BYTES} bytes`);
  if ('threw' in answer) {
    const { message, stack } = answer.threw;
    throw new ActionError('script_threw', message, stack && forms.scriptStack(stack, script, form));
  }
  const { type, value, origin } = answer;
  return { type, value, origin };
}

/**
 * The bare script is compiled for its better words: in a form, an unfinished script stumbles over our brace.
 * @param {Run} run @param {any} failed what the form's compiler said
 */
async function syntaxError({ tabId, script }, failed) {
  const params = { expression: script, sourceURL: '', persistScript: false };
  // Only this needs the agent; enabled for longer it would report every context of every page.
  await cdp(tabId, 'Runtime.enable');
  const { exceptionDetails: bare } = await cdp(tabId, 'Runtime.compileScript', params);
  cdp(tabId, 'Runtime.disable').catch(console.debug);
  const allowedInForm = /await is only valid|Illegal return/.test(bare?.exception.description ?? '');
  const { exception, lineNumber } = bare && !allowedInForm ? bare : failed;
  const line = Math.min(lineNumber + 1, script.split('\n').length);
  const [message] = exception.description.split('\n');
  return new ActionError('syntax_error', `${message} (line ${line} of the script)`);
}
