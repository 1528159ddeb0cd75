// @ts-check
// Limits of questions, answers and memory, each with its reason.

/** The daemon looks a file up within milliseconds; a slow disk may take longer. */
export const FILE_ANSWER_MS = 5_000;
/** As many as the daemon takes in one question. */
export const FILE_CHECK_MAX = 1_000;
/** Verdicts that are kept for tab lists and recordings, which cannot wait. */
export const FILES_KNOWN_MAX = 1_000;
/** Remembered older extensions whose request the person has seen: more than the daemon reports at a time. */
export const SEEN_MAX = 64;
/** How much of an act the question about it tells, in UTF-16 units: the daemon takes 300. And how much of one of its values. */
export const DETAIL_MAX = 260;
export const DETAIL_VALUE_MAX = 70;
/** As many files as the daemon gives to a page, and asks the person about, at once. */
export const UPLOAD_FILES_MAX = 10;
/** Remembered commands of programs on another machine that led to a site without a word: each is given again soon, or never. */
export const KEPT_FROM_MAX = 100;
