// @ts-check
// Limits of questions to the person, each with its reason.

/** The picture that goes with an approval: the popup is 360 px wide, on a screen of two pixels a point. */
export const ASK_PICTURE_SIDE = 720;
/** chrome.storage.session holds 10 MB in all, and drawings need most of it. */
export const ASK_PICTURE_MAX = 256 * 1024;
/** Pictures that are kept at the same time: the oldest questions have theirs. */
export const ASK_PICTURES_MAX = 8;
/** A page that paints for longer is asked about without its picture. */
export const ASK_PICTURE_MS = 5_000;
/** A daemon sends its open questions at once after `ready`, and nothing if there are none. */
export const HAND_OVERS_MS = 2_000;
/** A notification shows no more buttons. */
export const NOTIFICATION_BUTTONS_MAX = 2;
/** A system cuts longer texts of a notification off, and with them the name or the folder of a file. */
export const NOTIFIED_FILE_MAX = 80;
