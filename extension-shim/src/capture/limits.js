// @ts-check
// Limits of recording, each with its reason.

/** What was recorded goes to the daemon in batches: soon enough to be read at once, seldom enough to cost little. */
export const BATCH_MS = 200;
export const BATCH_MAX_ENTRIES = 200;
export const BATCH_MAX_BYTES = 256 * 1024;
/** What waits of each stream, for its turn or for the daemon to come back: as much as the daemon itself would keep. */
export const BUFFER_MAX_ENTRIES = 1_000;
export const BUFFER_MAX_BYTES = 1024 * 1024;
/** A page that never stops would fill the log with notes of what is missing in it. */
export const DROP_NOTE_MS = 2_000;
/** More than a person or a model reads of one line. */
export const LOG_TEXT_MAX = 8_192;
export const STACK_MAX = 4_096;
/** Longer ones are data that happens to be written as a URL. */
export const URL_MAX = 2_048;
export const HEADER_MAX = 1_024;
/** What the daemon keeps of each. */
export const KEPT_BODY_MAX_BYTES = 16 * 1024;
export const SOCKET_TEXT_MAX_BYTES = 4 * 1024;
/** The browser hands over a body as a whole: to cut 16 KiB off a larger one would cost more than they are worth. */
export const BODY_FETCH_MAX_BYTES = 2 * 1024 * 1024;
/** Requests of one tab that have begun and not ended; streams never end. */
export const OPEN_REQUESTS_MAX = 1_000;
export const OPEN_SOCKETS_MAX = 500;
/** Whoever asked for the recording is gone by then: without a daemon nobody could switch it off. */
export const RECORD_ALONE_MS = 5 * 60_000;
/** A navigation waits this long for its tab to be recorded, so that its first request is. */
export const RECORD_FIRST_MS = 500;
/** The browser hands bodies over whole and at once: so many fit into a worker. */
export const BODIES_AT_ONCE = 16;
/** How often a page may forget what it has logged. */
export const RELEASE_MS = 1_000;
/**
 * A page that says more in this time is not listened to for a while. Little, since what is on its way by then
 * holds up commands; lines that are held back are told afterwards. Of a request the browser tells in some ten
 * events, and a large page begins hundreds at once.
 */
export const FLOOD_WINDOW_MS = 100;
export const FLOOD_EVENTS = { Runtime: 100, Log: 100, Network: 1_500 };
/** Twice as long each time that it goes on. */
export const FLOOD_PAUSE_MS = 500;
export const FLOOD_PAUSE_MAX_MS = 60_000;
/** After this it is a flood of its own. Not sooner: a flood itself may delay all for seconds. */
export const FLOOD_CALM_MS = 60_000;
/** At least so long if it took no word: to begin again costs most of all. */
export const FLOOD_REST_MS = 30_000;
/** A page that does not take our word within this, and goes on, is in a loop. */
export const FLOOD_PATIENCE_MS = 300;
