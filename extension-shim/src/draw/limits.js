// @ts-check
// Limits of draw mode, each with its reason.

/** The picture that a person draws on: as sharp as most screens. */
export const DRAW_DRAFT_SIDE = 4_096;
/** chrome.storage.session holds 10 MB in all: room for two drawings and the other entries. */
export const DRAW_DRAFT_MAX = 3 * 1024 * 1024;
/** The picture and the page to draw in are there within 0.3 s; a busy machine may take seconds. */
export const DRAW_OPEN_MS = 10_000;
/** The longest prompt shown with a request to draw: the daemon takes 200 characters, which may have two units each. */
export const DRAW_PROMPT_MAX = 400;
/** A page that is busy for longer is not waited for: a drawing is sent without the elements under its marks. */
export const DRAW_LOOK_MS = 5_000;
/** The longest data URL of a drawing's picture: with the rest of the drawing it must fit into a frame of 8 MiB. */
export const DRAW_PICTURE_MAX = 5 * 1024 * 1024;
/** A drawing that the daemon does not acknowledge this soon is handed over again by the page that it is drawn in. */
export const DRAW_ACK_MS = 10_000;
/** Requests that are shown above the picture, the newest: more leave no room to draw. */
export const DRAW_REQUESTS_SHOWN = 3;
