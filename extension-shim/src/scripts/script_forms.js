// @ts-check
// A script may be an expression, statements, or the body of a function. The text alone does not show which:
// each form is offered to the compiler in turn, and a form that does not compile has not run.

/** @import {StopReason} from '../../types/protocol.js' */

import { RESULT_MAX_BYTES } from '../commands/limits.js';
import { RUN_IN_PAGE } from '../injected/run.js';

/** @typedef {{prefix: string, expression: string}} Form the script starts behind `prefix`, in the same line */

/**
 * A script that names `tabwireSignal` is handed one: an AbortSignal that is aborted when no agent waits for the script any
 * more. Others are left as they are. @param {string} script @returns {string | null} the global name of its AbortController
 */
export function hookFor(script) {
  return /\btabwireSignal\b/.test(script) ? `tabwire_${crypto.randomUUID().replaceAll('-', '')}` : null;
}

/** Aborts the script's signal. @param {string | null} hook @param {StopReason} why @returns {string} an expression */
export function abortWord(hook, why) {
  const words = why === 'timeout' ? 'the command is past its time' : 'the command was cancelled';
  return hook ? `void globalThis.${hook}?.abort(new DOMException('${words}','AbortError'))` : '1';
}

/** @param {string} hook @returns {string} an expression */
export function forgetHook(hook) {
  return `void delete globalThis.${hook}`;
}

/** Defines the hook. @param {string} hook @returns {string} an expression, whose value is the signal */
function signalOf(hook) {
  return `Object.defineProperty(globalThis,'${hook}',{configurable:true,value:new AbortController}).${hook}.signal`;
}

/** Parameters of the function that a script becomes. @param {string | null} hook */
function parameters(hook) {
  return hook ? `(tabwireSignal=${signalOf(hook)})` : '()';
}

/** Its value is the result; a promise is awaited. @param {string} script @param {string | null} [hook] @returns {Form} */
export function asExpression(script, hook = null) {
  // People end expressions with a semicolon too; as a statement it would take a second round trip.
  return wrapped(`((f,s)=>s(f,ROOM))(async${parameters(hook)}=>(`, script.replace(/;\s*$/, ''), '))');
}

/**
 * Whether a script cannot be an expression, going by its first word. That spares a round trip; a script
 * that is none for another reason is found out by the compiler.
 * @param {string} script
 */
export function beginsAsStatement(script) {
  return /^\s*(?:const|let|var|if|for|while|do|switch|try|return|throw)\b/.test(script);
}

/**
 * The value is that of the last statement. In a block, so that `const` does not stay behind in the page;
 * evaluated as the console does, so that `await` works. @param {string} script @param {string | null} [hook]
 * @returns {Form}
 */
export function asStatements(script, hook = null) {
  const [prefix, end] = hook ? [`{const tabwireSignal=${signalOf(hook)};{`, '}}'] : ['{', '}'];
  return { prefix, expression: `${prefix}${script}\n${end}` };
}

/** For scripts with `return`. @param {string} script @param {string | null} [hook] @returns {Form} */
export function asFunctionBody(script, hook = null) {
  return wrapped(`((f,s)=>s(f,ROOM))(async${parameters(hook)}=>{`, script, '})');
}

/**
 * Encodes the result that an evaluation left in the page, as a value or as an exception.
 * @param {'return' | 'throw'} how @param {string} value an expression
 */
export function encodeExpression(how, value) {
  return `${RUN_IN_PAGE}(()=>{${how} ${value}},${RESULT_MAX_BYTES})`;
}

/** @param {string} head @param {string} script @param {string} tail ends with the call's parenthesis @returns {Form} */
function wrapped(head, script, tail) {
  const prefix = head.replace('ROOM', String(RESULT_MAX_BYTES));
  // The line break ends a comment in the script's last line.
  const expression = `${prefix}${script}\n${tail.slice(0, -1)},${RUN_IN_PAGE})`;
  return { prefix, expression };
}

/**
 * The page's stack in terms of the script: without our frames, columns counted from the script's start.
 * @param {string} stack @param {string} script @param {Form} form
 */
export function scriptStack(stack, script, { prefix }) {
  const lastLine = script.split('\n').length;
  const lines = stack.split('\n').map((line) => line.replace(PLACE, (whole, row, column, end) => {
    if (row > lastLine || (row === '1' && column <= prefix.length)) return OURS;
    return row === '1' ? `<anonymous>:1:${column - prefix.length}${end}` : whole;
  }));
  return lines.filter((line) => !line.includes(OURS)).join('\n');
}

const PLACE = /<anonymous>:(\d+):(\d+)(\)?)$/;
const OURS = '\0';
