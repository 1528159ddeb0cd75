// @ts-check
// Limits of commands and their reports, each with its reason.

/** The promise of the protocol: a command that runs longer sends `pending`. */
export const PENDING_AFTER_MS = 2_000;
/** The longest shown name of an agent. */
export const CLIENT_MAX = 64;
/** Frames may have 8 MiB; the rest is room for the daemon's additions. */
export const RESULT_MAX_BYTES = 7.5 * 1024 * 1024;
/** The acknowledgement comes within a millisecond; storing before that would cost each command 0.3 ms. */
export const STORE_AFTER_MS = 20;
/** chrome.storage.session holds 10 MB in all. */
export const STORED_MAX_BYTES = 1024 * 1024;
/** Ids of finished commands that are remembered so that none is run twice. */
export const FINISHED_IDS_MAX = 1_000;
/** The steps of a batch; more make an answer that nobody reads. */
export const STEPS_MAX = 50;
/** The longest text that results make in a parameter of a step. */
export const STEP_TEXT_MAX = 1_000_000;
/** The names of results. */
export const STEP_NAME = /^[A-Za-z_][\w-]{0,63}$/;
/** All results of a batch in bytes; the rest of a report is room for its failure. */
export const STEP_RESULTS_MAX = 6 * 1024 * 1024;
/** The part of a batch's time that is kept for the report of a step that takes too long. */
export const STEP_REPORT_MS = 500;
/** The browser tells of a tab's new id right after it has ended what ran there under the old one. */
export const REPLACED_MS = 50;
