// @ts-check
// Limits of recording, each with its reason.

/** Entries go to the daemon in batches: soon enough to be read at once, seldom enough to cost little. */
export const BATCH_MS = 200;
export const BATCH_MAX_ENTRIES = 200;
export const BATCH_MAX_BYTES = 256 * 1024;
/** Entries of a stream that wait to be sent, or for the daemon to come back: as many as the daemon itself would keep. */
export const BUFFER_MAX_ENTRIES = 1_000;
export const BUFFER_MAX_BYTES = 1024 * 1024;
/** A page that never stops would fill the log with notes on missing entries. */
export const DROP_NOTE_MS = 2_000;
/** More than a person or a model reads of one line. */
export const LOG_TEXT_MAX = 8_192;
export const STACK_MAX = 4_096;
/** Longer ones are data that happens to be written as a URL. */
export const URL_MAX = 2_048;
export const HEADER_MAX = 1_024;
/** As much as the daemon keeps of each. */
export const KEPT_BODY_MAX_BYTES = 16 * 1024;
export const SOCKET_TEXT_MAX_BYTES = 4 * 1024;
/** The browser hands over a body as a whole: to cut 16 KiB off a larger one would cost more than they are worth. */
export const BODY_FETCH_MAX_BYTES = 2 * 1024 * 1024;
/** Requests of one tab that have begun and not ended; streams never end. */
export const OPEN_REQUESTS_MAX = 1_000;
export const OPEN_SOCKETS_MAX = 500;
/** Without a daemon no agent could switch the recording off: after this it ends by itself. */
export const RECORD_ALONE_MS = 5 * 60_000;
/** A navigation waits this long for its tab to be recorded, so that its first request is; any command as long for new settings. */
export const RECORD_FIRST_MS = 500;
/** The browser hands bodies over whole and at once: this many fit into a worker. */
export const BODIES_AT_ONCE = 16;
/** How often a page may release its logged objects. */
export const RELEASE_MS = 1_000;
/**
 * A page with more events in this time is muted for a while. The limits are low, since events that are on their way
 * hold up commands; the lines that were held back are read afterwards. A request makes some ten events, and a large
 * page begins hundreds at once.
 */
export const FLOOD_WINDOW_MS = 100;
export const FLOOD_EVENTS = { Runtime: 100, Log: 100, Network: 1_500 };
/** Twice as long each time that it goes on. */
export const FLOOD_PAUSE_MS = 500;
export const FLOOD_PAUSE_MAX_MS = 60_000;
/** After this it is a flood of its own. Not sooner: a flood itself may delay all for seconds. */
export const FLOOD_CALM_MS = 60_000;
/** At least this pause for a page that did not react: to begin again is the most expensive step. */
export const FLOOD_REST_MS = 30_000;
/** With a longer queue of muted events the tab is let go of, which drops them: the commands of all tabs wait behind them. */
export const FLOOD_QUEUE_MS = 200;
/** A page that does not react within this, and goes on, is in a loop. */
export const FLOOD_PATIENCE_MS = 300;
