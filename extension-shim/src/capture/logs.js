// @ts-check
// Console lines, exceptions and the browser's own messages on a page, as entries of `logs`. Pure.

/** @import {LogEntry} from '../../types/protocol.js' */

import { clip } from '../lib/clip.js';
import { LOG_TEXT_MAX, STACK_MAX, URL_MAX } from './limits.js';
import { lineOf, textOf } from './remote_object.js';
import { present } from './text.js';

/** @typedef {{functionName: string, url: string, lineNumber: number, columnNumber: number}} CallFrame */

/** @type {Record<string, LogEntry['level']>} */
const LEVELS = { verbose: 'debug', debug: 'debug', info: 'info', warning: 'warn', error: 'error', assert: 'error' };

/** Console calls that write no line. */
const SILENT = new Set(['clear', 'endGroup', 'profile', 'profileEnd']);

/** @param {any} params of Runtime.consoleAPICalled @returns {Omit<LogEntry, 'url'> | null} */
export function consoleEntry({ type, args, timestamp, stackTrace }) {
  if (SILENT.has(type)) return null;
  const level = LEVELS[type] ?? 'log';
  const frames = stackTrace?.callFrames ?? [];
  const text = lineOf(args);
  return entry({
    t: timestamp,
    level,
    source: 'console',
    text: type === 'assert' ? `Assertion failed: ${text}` : text,
    ...place(frames[0]),
    stack: level === 'error' || level === 'warn' || type === 'trace' ? stackOf(frames) : undefined,
  });
}

/** @param {any} params of Runtime.exceptionThrown @returns {Omit<LogEntry, 'url'>} */
export function exceptionEntry({ timestamp, exceptionDetails }) {
  const { text, exception, url, lineNumber, columnNumber, stackTrace } = exceptionDetails;
  const frames = stackTrace?.callFrames ?? [];
  const whole = exception ? textOf(exception) : '';
  const [message, ...ownStack] = whole.split(/\n(?=\s+at )/);
  return entry({
    t: timestamp,
    level: 'error',
    source: 'exception',
    text: [text, message].filter(Boolean).join(' '),
    ...place(url ? { url, lineNumber, columnNumber, functionName: '' } : frames[0]),
    stack: ownStack.length > 0 ? ownStack.join('\n') : stackOf(frames),
  });
}

/** @param {any} params of Log.entryAdded @returns {Omit<LogEntry, 'url'>} */
export function browserEntry({ entry: { level, text, timestamp, url, lineNumber, stackTrace, args = [] } }) {
  const frames = stackTrace?.callFrames ?? [];
  return entry({
    t: timestamp,
    level: LEVELS[level] ?? 'info',
    source: 'browser',
    text: lineOf([{ type: 'string', value: text }, ...args]),
    ...(url ? { script_url: url, line: lineNumber === undefined ? undefined : lineNumber + 1 } : place(frames[0])),
    stack: stackOf(frames),
  });
}

/** @param {CallFrame | undefined} frame */
function place(frame) {
  return frame?.url ? { script_url: frame.url, line: frame.lineNumber + 1 } : {};
}

/** @param {CallFrame[]} frames @returns {string | undefined} as pages know stacks */
function stackOf(frames) {
  const lines = frames.map(({ functionName, url, lineNumber, columnNumber }) =>
    `    at ${functionName || '<anonymous>'} (${url || '<anonymous>'}:${lineNumber + 1}:${columnNumber + 1})`);
  return lines.length > 0 ? lines.join('\n') : undefined;
}

/** @param {Omit<LogEntry, 'url'>} fields */
function entry(fields) {
  const { text, script_url, stack } = fields;
  return present({
    ...fields,
    text: clip(text, LOG_TEXT_MAX),
    script_url: script_url && clip(script_url, URL_MAX),
    stack: stack && clip(stack, STACK_MAX),
  });
}
