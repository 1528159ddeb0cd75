// @ts-check
// Every duration and size of the shim, each with its reason.

/** A loopback daemon that was restarted is back within tens of milliseconds. */
export const BACKOFF_FIRST_MS = 100;
/** Longer waits would be felt when the daemon comes back. */
export const BACKOFF_MAX_MS = 5_000;
/** The daemon gives us 5 s for `hello`; a peer slower than twice that is not the daemon. */
export const HANDSHAKE_MS = 10_000;
/** The browser answers in milliseconds; what it has not by then is asked for again. */
export const BROWSER_CALL_MS = 5_000;
/** Two of the daemon's pings (20 s each) may be late before the link counts as dead. */
export const SILENCE_MS = 45_000;
/** After so many sockets in a row that could not be had, HTTP is tried: a restart alone rarely takes more. */
export const SOCKET_FAILURES = 3;
/** A socket that is refused costs a millisecond; one that can be had again saves more with each command. */
export const SOCKET_AGAIN_MS = 5_000;
/** The longest poll that the daemon holds. */
export const POLL_MS = 25_000;
/** A post is answered within 100 ms; a connection that takes this long is stuck. */
export const POST_MS = 10_000;
/** A request whose connection broke is sent again after 50, 100, 200, 400 ms: the daemon gives a session 2 s. */
export const RESENDS = 4;
export const RESEND_FIRST_MS = 50;
/** As many as the daemon takes. */
export const FRAMES_A_POST = 64;
/** The daemon takes bodies of 8 MiB; the rest is for what is around the frames. */
export const BODY_MAX_BYTES = 7.75 * 1024 * 1024;
/**
 * How long a killed worker may be missed: nothing else wakes it while nobody touches the browser. An
 * unpacked extension gets the period that it asks for; a packed one would get 30 s.
 */
export const RECONNECT_ALARM_S = 1;
/** After a take-over the other connection gets this long to be the only one. */
export const REPLACED_HOLD_MS = 30_000;
/** Taken over again this soon after coming back: another profile carries our id. */
export const CLONE_WINDOW_MS = 60_000;

/** A host starts and answers in 0.3 s; on a busy machine it may take some seconds. */
export const HOST_ANSWER_MS = 10_000;
/** Each question starts a program; a person who has just run `tabwire install` is there and waits. */
export const HOST_AGAIN_FIRST_MS = 5_000;
/** Twice as long each time, since mostly it is only that no daemon runs. */
export const HOST_AGAIN_MAX_MS = 5 * 60_000;
/** More than the one sentence that a host says. */
export const HOST_MESSAGE_MAX = 500;

/** The promise of the protocol: whoever runs longer says so. */
export const PENDING_AFTER_MS = 2_000;
/** Chrome ends a worker after 30 s without an event or a chrome.* call. */
export const KEEPALIVE_MS = 20_000;

/** The daemon looks a file up within milliseconds; a slow disk may take longer. */
export const FILE_ANSWER_MS = 5_000;
/** As many as the daemon takes in one question. */
export const FILE_CHECK_MAX = 1_000;
/** Verdicts that are kept for tab lists and recordings, which cannot wait. */
export const FILES_KNOWN_MAX = 1_000;

/** What is shown of an agent's name. */
export const CLIENT_MAX = 64;

/** Frames may have 8 MiB; the rest is room for what the daemon adds. */
export const RESULT_MAX_BYTES = 7.5 * 1024 * 1024;
/** The acknowledgement comes within a millisecond; storing before that would cost each command 0.3 ms. */
export const STORE_AFTER_MS = 20;
/** chrome.storage.session holds 10 MB in all. */
export const STORED_MAX_BYTES = 1024 * 1024;
/** Ids of finished commands that are remembered so that none is run twice. */
export const FINISHED_IDS_MAX = 1_000;

/** A page load changes URL, title and status within milliseconds: one frame for all. */
export const TABS_DEBOUNCE_MS = 50;
/** The debugger bar goes away when no command has used the tab for this long. */
export const DETACH_IDLE_MS = 5 * 60_000;
/** A page that does not answer this soon is busy; page_info then tells what the browser knows. */
export const PAGE_PROBE_MS = 500;
/** A page that is free answers within a millisecond or two: so long is waited for one that has not answered for long. */
export const PAGE_ANSWER_MS = 20;
/** An empty page that does not say this soon who has opened it counts as somebody's whom agents may not see. */
export const OWNER_MS = 1_000;
/** For the HTTP status of a page that has just loaded. */
export const STATUS_MS = 1_000;
/** After the browser has dropped a load without a page: the download that came of it is told of about 30 ms later. */
export const DOWNLOAD_MS = 500;
/** How often a page is asked while a script runs in it, so that it is known at once whether it is busy. */
export const PULSE_MS = 100;
/** A crash takes 60 to 150 ms. */
export const CRASH_MS = 400;
/** The daemon waits 2 s beyond the time of a command: two probes, a crash and this must fit into them. */
export const RELOAD_MS = 500;
/** Images beyond this are scaled down by the models anyway. */
export const SCREENSHOT_MAX_SIDE = 1568;
/** What may be asked for instead: below nothing can be seen, above no frame would hold it. */
export const SCREENSHOT_SIDES = { least: 64, most: 8192 };
/** A capture takes 40 to 100 ms; one that takes longer may need to be asked for again. */
export const SCREENSHOT_PATIENCE_MS = 200;
/** The picture that a person draws on: as sharp as most screens. */
export const DRAW_DRAFT_SIDE = 4_096;
/** chrome.storage.session holds 10 MB in all: so two drawings, and what else is kept there, have room. */
export const DRAW_DRAFT_MAX = 3 * 1024 * 1024;
/** The picture and the page to draw in are there within 0.3 s; a busy machine may take seconds. */
export const DRAW_OPEN_MS = 10_000;
/** What is shown of the words in which an agent asks for a drawing: the daemon takes 200 characters, which may have two units each. */
export const DRAW_PROMPT_MAX = 400;
/** How far from a mark an element may lie to be told with it, in CSS pixels: a hand is no more exact. */
export const DRAW_NEAR_PX = 10;
/** How many elements are told with one mark, and with all marks of a drawing together. */
export const DRAW_NEAR_MAX = 8;
export const DRAW_NEAR_ALL_MAX = 100;
/** How long they are looked for and described: the elements that the marks are about come first. */
export const DRAW_NEAR_MS = 1_000;
/** A page that is busy for longer is not waited for: a drawing is sent without the elements under its marks. */
export const DRAW_LOOK_MS = 5_000;
/** What a drawing's picture may have as a data URL: with the rest it must fit into a frame of 8 MiB. */
export const DRAW_PICTURE_MAX = 5 * 1024 * 1024;
/** A drawing that the daemon does not acknowledge this soon is handed over again by the page that it is drawn in. */
export const DRAW_ACK_MS = 10_000;
/** How much of a page an analysis visits: more takes the page seconds, and no model reads it. */
export const LOOK_NODES = 100_000;
/** How long the page may be kept busy by it. */
export const LOOK_MS = 1_500;
/** How many matches of a selector are told. */
export const DOM_MATCHES = { least: 1, most: 200 };
export const DOM_MATCHES_USUAL = 20;
/** More elements than this, and the browser is at their accessibility tree for seconds and answers nobody. */
export const AX_ELEMENTS = 4_000;
/** How deep an accessibility tree is told. */
export const AX_DEPTHS = { least: 1, most: 100 };
/** How many lines of it, and how long a name in it. */
export const AX_LINES = 2_000;
export const AX_TEXT = 200;
/** The fields with secrets that are looked up at most. */
export const AX_SECRETS = 500;
/** How far below an element that means nothing by itself its tree is looked for. */
export const AX_LEVELS_DOWN = 2;
/** How many frames of a page are read. */
export const AX_FRAMES = 10;

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
