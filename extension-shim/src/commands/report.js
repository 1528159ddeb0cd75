// @ts-check
// From an outcome or a failure to the one report of an attempt, and to its text.

/** @import {AttemptRef, CancelledFrame, CompleteFrame, ErrorBody, ErrorFrame, Outcome, Report, ReportedResult, TimeoutFrame} from '../../types/protocol.js' */

import { ActionError, messageOf } from '../lib/errors.js';
import { utf8Length } from '../lib/utf8_length.js';
import { RESULT_MAX_BYTES } from './limits.js';

/** @param {AttemptRef} ref @param {Outcome} outcome @returns {CompleteFrame} */
export function completeReport(ref, { value, type, origin, dialogs, notes }) {
  /** @type {ReportedResult} JSON has no undefined; `type` keeps the difference. */
  const result = { success: true, value: value ?? null, type, ...notes };
  if (dialogs?.length) result.dialogs = dialogs;
  /** @type {CompleteFrame} */
  const report = { type: 'complete', ...name(ref), result };
  if (origin !== undefined) report.origin = origin;
  return report;
}

/** @param {AttemptRef} ref @param {unknown} error @returns {ErrorFrame | TimeoutFrame} */
export function failureReport(ref, error) {
  const body = errorBody(error);
  const type = body.code === 'execution_timeout' ? 'timeout' : 'error';
  return { type, ...name(ref), error: body };
}

/** @param {AttemptRef} ref @param {boolean} mayHaveRun @returns {CancelledFrame} */
export function cancelledReport(ref, mayHaveRun) {
  return { type: 'cancelled', ...name(ref), may_have_run: mayHaveRun };
}

/** The text to send; a report that is too large becomes the error `result_too_large`. @param {Report} report */
export function reportText(report) {
  const text = JSON.stringify(report);
  const bytes = utf8Length(text);
  if (bytes <= RESULT_MAX_BYTES) return text;
  return JSON.stringify(failureReport(report, tooLarge(`${bytes} bytes`)));
}

/** @param {string} size */
export function tooLarge(size) {
  return new ActionError('result_too_large', `the result has ${size}, at most ${RESULT_MAX_BYTES} are sent`);
}

/** @param {AttemptRef} ref @returns {AttemptRef} */
function name({ correlation_id, attempt }) {
  return { correlation_id, attempt };
}

/** @param {unknown} error @returns {ErrorBody} */
export function errorBody(error) {
  if (!(error instanceof ActionError)) return { code: 'internal', message: messageOf(error) };
  const { code, message, pageStack: stack, more: { hint, mayHaveRun: may_have_run } } = error;
  // Undefined fields do not go over the wire.
  return { code, message, stack, hint, may_have_run };
}
