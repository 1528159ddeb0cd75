// @ts-check
// A script may be an expression, statements, or the body of a function. None is told from the text:
// each form is offered to the compiler in turn, and what does not compile has not run.

import { RESULT_MAX_BYTES } from './limits.js';
import { RUN_IN_PAGE } from './page/run.js';

/** @typedef {{prefix: string, expression: string}} Form the script starts behind `prefix`, in the same line */

/** Its value is the result; a promise is awaited. @param {string} script @returns {Form} */
export function asExpression(script) {
  // People end expressions with a semicolon too; as a statement it would take a second round trip.
  return wrapped('((f,s)=>s(f,ROOM))(async()=>(', script.replace(/;\s*$/, ''), '))');
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
 * evaluated as the console does, so that `await` works. @param {string} script @returns {Form}
 */
export function asStatements(script) {
  return { prefix: '{', expression: `{${script}\n}` };
}

/** For scripts with `return`. @param {string} script @returns {Form} */
export function asFunctionBody(script) {
  return wrapped('((f,s)=>s(f,ROOM))(async()=>{', script, '})');
}

/**
 * Encodes what an evaluation left in the page, or gives it to the encoder as what was thrown.
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
