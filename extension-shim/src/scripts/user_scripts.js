// @ts-check
// Runs a script in the page's own world without the debugger: in tabs whose debugger bar the person has
// closed, if the person allows Tabwire user scripts. Content policies do not apply here either. Without the
// debugger dialogs stay open, a syntax error has no position, and an endless script goes on.

/** @import {Form} from './script_forms.js' */

import { PAGE_PROBE_MS } from '../browser/limits.js';
import { documentNow, documentTarget } from '../browser/site_guard.js';
import { ActionError, closedMeanwhile, navigationInterrupted } from '../lib/errors.js';
import * as forms from './script_forms.js';

/**
 * @typedef {{ran: 'expression' | 'body', answer: unknown} | {ran: null, compiles: boolean}} UserScriptRun
 *   null: nothing of it has run
 * @typedef {{tabId: number, documentIds?: string[]}} InjectionTarget
 */

/** Whether the person has switched on "Allow User Scripts": without it the interface is not there. */
export function userScriptsAllowed() {
  return typeof chrome.userScripts?.execute === 'function';
}

/**
 * Each form that compiles is kept in the page, and one of them is called, once.
 * @param {number} tabId @param {string} script @param {string | null} hook @param {(url: string) => void} admitAct throws if no script may run on the page
 * @returns {Promise<{form: Form, answer: unknown, url: string}>} the form that ran, the page's answer, and the page's URL as the browser has it
 */
export async function runAsUserScript(tabId, script, hook, admitAct) {
  const name = `tabwire_${crypto.randomUUID().replaceAll('-', '')}`;
  const formOf = {
    expression: deferred(name, 'expression', forms.asExpression(script, hook)),
    body: deferred(name, 'body', forms.asFunctionBody(script, hook)),
  };
  const gives = /\breturn\b/.test(script);
  const code = [formOf.expression.expression, formOf.body.expression, runner(name, gives)];
  const { url, target } = await documentNow(tabId);
  admitAct(url);
  const ran = await unlessItGoes(tabId, inject(target, code));
  if (ran?.ran !== null) return { form: formOf[ran?.ran] ?? formOf.body, answer: ran?.answer, url };
  if (!ran.compiles) throw new ActionError('syntax_error', 'the script does not compile; without the debugger the browser does not say where');
  throw new ActionError('debugger_unavailable',
    'the person closed the debugger bar, and without it statements have no value', undefined,
    { mayHaveRun: false, hint: 'Nothing of the script has run: add a return to it and call again.' });
}

/** @param {number} tabId @param {string} word an expression that aborts the script's signal @returns {Promise<string>} a note for the report of a timeout or a Stop */
export async function stillBusyNote(tabId, word) {
  const answers = documentTarget(tabId).then((target) => inject(target, [word])).then(() => true, () => true);
  const tooLate = new Promise((resolve) => { setTimeout(resolve, PAGE_PROBE_MS, false); });
  if (await Promise.race([answers, tooLate])) return '';
  return '; the page does not react, and without the debugger nothing can end what it does: close the tab with tab_close';
}

/**
 * Each entry is compiled by itself: one that does not compile leaves the others alone, and leaves nothing behind.
 * @param {InjectionTarget} into @param {string[]} entries @returns {Promise<any>} the value of the last one
 */
async function inject(into, entries) {
  const js = /** @type {[chrome.userScripts.ScriptSource]} */ (entries.map((code) => ({ code })));
  const target = /** @type {chrome.userScripts.InjectionTarget} */ (into);
  const [done] = await chrome.userScripts.execute({ target, world: 'MAIN', injectImmediately: true, js });
  return done?.result;
}

/** Keeps the form for the runner instead of running it. @param {string} name @param {string} as @param {Form} form @returns {Form} */
function deferred(name, as, { prefix, expression }) {
  const head = `(globalThis.${name}??={__proto__:null}).${as}=()=>`;
  return { prefix: head + prefix, expression: head + expression };
}

/**
 * A page that has redefined promises may answer in the script's place, and nothing that it does calls a form again.
 * @param {string} name @param {boolean} gives whether the body of a function would give a value
 */
function runner(name, gives) {
  return `(async()=>{const{expression,body}=globalThis.${name}??{__proto__:null};delete globalThis.${name};
    if(expression)return{__proto__:null,ran:'expression',answer:await expression()};
    if(body&&${gives})return{__proto__:null,ran:'body',answer:await body()};
    return{__proto__:null,ran:null,compiles:!!body}})()`;
}

/**
 * The browser never answers for a script whose page goes away.
 * @param {number} tabId @param {Promise<UserScriptRun>} injected @returns {Promise<UserScriptRun>}
 */
async function unlessItGoes(tabId, injected) {
  const stop = new AbortController();
  try {
    return await Promise.race([injected, pageLeft(tabId, stop.signal), tabClosed(tabId, stop.signal)]);
  } finally {
    stop.abort();
  }
}

/** @param {number} tabId @param {AbortSignal} signal @returns {Promise<never>} */
function pageLeft(tabId, signal) {
  const { onCommitted } = chrome.webNavigation;
  return new Promise((_, reject) => {
    /** @param {{tabId: number, frameId: number}} details */
    const committed = (details) => {
      if (details.tabId === tabId && details.frameId === 0) reject(navigationInterrupted());
    };
    onCommitted.addListener(committed);
    signal.addEventListener('abort', () => onCommitted.removeListener(committed));
  });
}

/** @param {number} tabId @param {AbortSignal} signal @returns {Promise<never>} */
function tabClosed(tabId, signal) {
  const { onRemoved } = chrome.tabs;
  return new Promise((_, reject) => {
    /** @param {number} removed */
    const gone = (removed) => { if (removed === tabId) reject(closedMeanwhile(tabId)); };
    onRemoved.addListener(gone);
    signal.addEventListener('abort', () => onRemoved.removeListener(gone));
  });
}
