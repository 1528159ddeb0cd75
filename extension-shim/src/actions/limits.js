// @ts-check
// Limits of the analyses, each with its reason.

/** How many matches of a selector an answer has. */
export const DOM_MATCHES = { least: 1, most: 200 };
export const DOM_MATCHES_USUAL = 20;
/** For more elements than this the browser computes the accessibility tree for seconds and answers nothing else. */
export const AX_ELEMENTS = 4_000;
/** How deep the accessibility tree of an answer is. */
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
/** The longest text or HTML of a page that goes to the daemon, in UTF-16 units: frames have room for it. */
export const TEXT_MAX = 1_000_000;
/** How long a snapshot may be, in bytes of JSON. */
export const SNAPSHOT_BYTES = { least: 500, most: 65_536 };
/** How deep the lines of a snapshot are. */
export const SNAPSHOT_DEPTHS = { least: 1, most: 100 };
/** How many elements `find` names. */
export const FIND_MATCHES = { least: 1, most: 200 };
export const FIND_MATCHES_USUAL = 10;
/** How many attributes are asked for by name. */
export const ATTRIBUTE_NAMES_MAX = 100;
/** How many cookies an answer has: browsers keep at most 180 for a site. */
export const COOKIES_MAX = 200;
/** The longest name and value that an agent sets. Browsers keep cookies of at most 4,096 bytes. */
export const STORED_NAME_MAX = 1_000;
export const STORED_VALUE_MAX = 100_000;
/** How much of a page's stored values an answer has, in UTF-16 units, and how many entries of a database. */
export const STORED_CHARS = 300_000;
export const STORED_ENTRIES = 100;
/** How long an element is shown to the person. */
export const HIGHLIGHT_MS = { least: 100, most: 60_000 };
export const HIGHLIGHT_USUAL_MS = 5_000;
/** How many keys and chords one call presses, and how many fields it fills. */
export const KEYS_MAX = 100;
export const FIELDS_MAX = 100;
/** How long a button of the mouse is held. */
export const HOLD_MS = { least: 0, most: 10_000 };
/** Pointer moves of a drag. */
export const DRAG_MOVES = { least: 1, most: 200 };
export const DRAG_MOVES_USUAL = 10;
/** Points of a path that is drawn, and how far one is from the corner that it is counted from, in CSS px. */
export const PATH_POINTS = 5_000;
export const COORDINATE = { least: -100_000, most: 100_000 };

/** How long after a click a page may take to open a file chooser: some ask their server first. */
export const CHOOSER_MS = 3_000;
/** For more elements than this an audit keeps the page busy for many seconds. */
export const AUDIT_ELEMENTS = 6_000;
/** How long a frame may take for its part of an audit: one that hangs is left out. */
export const AUDIT_FRAME_MS = 10_000;
/** Rules and tags that one audit is asked for, and elements that it names for each rule. */
export const AUDIT_RULES_MAX = 50;
export const AUDIT_TAGS_MAX = 20;
export const AUDIT_NODES = 10;
/** Of the value of a field after a key: the agent reads all of it with get_value. */
export const VALUE_TOLD = 60;
/** The longest text that a wait looks for. */
export const WAIT_TEXT_MAX = 2_000;
/** How long a wait for time alone is; commands may take no longer. */
export const WAIT_TIMES = { least: 0, most: 300_000 };
/** The part of a wait's time in which its failure finds out the state of the page. */
export const WAIT_REPORT_MS = 500;
/** Numbers of downloads, as the browser counts them. */
export const DOWNLOAD_IDS = { least: 0, most: 2_147_483_647 };
/** How far a download has come is told by no event. */
export const DOWNLOAD_LOOK_MS = 1_000;
/** Pending requests that an error names, and how much of their URLs. */
export const WAIT_URLS = 3;
export const WAIT_URL_SHOWN = 120;
/** The time of a step of a batch. */
export const STEP_TIMES = { least: 1, most: 300_000 };
