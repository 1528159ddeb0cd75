// @ts-check
// Limits of calls to the browser and its pages, each with its reason.

/** A page load changes URL, title and status within milliseconds: one frame for all. */
export const TABS_DEBOUNCE_MS = 50;
/** The debugger bar goes away when no command has used the tab for this long. */
export const DETACH_IDLE_MS = 5 * 60_000;
/** A page that does not answer this soon is busy; page_info then reports without it. */
export const PAGE_PROBE_MS = 500;
/** A free page answers within a millisecond or two. This wait is for a page that has not answered for long already. */
export const PAGE_ANSWER_MS = 20;
/** An empty page that does not name its opener this soon counts as closed to agents. */
export const OWNER_MS = 1_000;
/** For the HTTP status of a page that has just loaded. */
export const STATUS_MS = 1_000;
/** After the browser has dropped a load without a page: it reports the download about 30 ms later. */
export const DOWNLOAD_MS = 500;
/** A crash takes 60 to 150 ms. */
export const CRASH_MS = 400;
/** The daemon waits 2 s beyond the time of a command: two probes, a crash and this must fit into them. */
export const RELOAD_MS = 500;
/** Images beyond this are scaled down by the models anyway. */
export const SCREENSHOT_MAX_SIDE = 1568;
/** The limits of `max_side`: a smaller picture shows nothing, and a larger one fits into no frame. */
export const SCREENSHOT_SIDES = { least: 64, most: 8192 };
/** A capture takes 40 to 100 ms; one that takes longer may need to be asked for again. */
export const SCREENSHOT_PATIENCE_MS = 200;
/** File systems take no longer names of files. */
export const FILE_NAME_MAX = 255;
