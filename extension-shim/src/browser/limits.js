// @ts-check
// Limits of calls to the browser and its pages, each with its reason.

/** A page load changes URL, title and status within milliseconds: one frame for all. */
export const TABS_DEBOUNCE_MS = 50;
/** The debugger bar goes away when no command has used the tab for this long. */
export const DETACH_IDLE_MS = 5 * 60_000;
/** A tab that no command has used for this long may be unloaded again, unless an agent holds it. */
export const WAKEFUL_MS = 5 * 60_000;
/** How many former ids of a tab still name it: each unloading of its page adds one. */
export const FORMER_IDS_MAX = 8;
/** A tab that loading brings to the front has come there by then. */
export const SHOWN_MS = 300;
/** An agent thinks for a few seconds between two acts; a menu or a list of suggestions has to stay open meanwhile. */
export const BURST_MS = 60_000;
/** After a script or a picture the next call follows as soon; a page that is hidden and seen again between them paints anew. */
export const FOCUS_LINGER_MS = 5_000;
/** The next step of a batch follows within a few milliseconds; a person who presses a button for files after an act takes longer than this. */
export const CHOOSER_LINGER_MS = 100;
/** A page that a tab in the background has not shown before is captured until two pictures are the same, and at most so often. */
export const FIRST_CAPTURES_MAX = 4;
/** A page that does not answer this soon is busy; page_info then reports without it. */
export const PAGE_PROBE_MS = 500;
/** A free page answers within a millisecond or two. This wait is for a page that has not answered for long already. */
export const PAGE_ANSWER_MS = 20;
/** An empty page that does not name its opener this soon counts as closed to agents. */
export const OWNER_MS = 1_000;
/** A tab that waits for a server lets the debugger ask its page only after that; a command that leads it elsewhere does not wait so long. */
export const FRAME_TREE_MS = 1_000;
/** For the HTTP status of a page that has just loaded. */
export const STATUS_MS = 1_000;
/** After the browser has dropped a load without a page: it reports the download about 30 ms later. */
export const DOWNLOAD_MS = 500;
/** A crash takes 60 to 150 ms. */
export const CRASH_MS = 400;
/** The daemon waits 2 s beyond the time of a command: two probes, a crash and this must fit into them. */
export const RELOAD_MS = 500;
/** The sides of an emulated view in CSS px, and its pixels for a CSS px. */
export const VIEWPORT_SIDES = { least: 64, most: 8192 };
export const VIEWPORT_RATIOS = { least: 0.5, most: 5 };
/** How many times slower scripts run. */
export const CPU_SLOWDOWNS = { least: 1, most: 20 };
/** Rules for requests of one tab, and the length of an address in one: each request is compared with all of them. */
export const NETWORK_RULES_MAX = 100;
export const RULE_URL_MAX = 1_000;
/** The longest answer of a rule, in UTF-16 units, and the headers that it may set. */
export const RULE_ANSWER_MAX = 200_000;
export const RULE_HEADERS_MAX = 20;
export const RULE_HEADER_MAX = 1_000;
/** Hosts on which scripts of agents have run: more than agents use in a day. */
export const SCRIPTED_HOSTS_MAX = 1_000;
/** For the next worker a script counts as this much later: in a row of scripts one write a second is enough. */
export const SCRIPTED_AHEAD_MS = 1_000;
/** A daemon that is started anew is back by then; without one no agent can put back what it has changed about a tab. */
export const STATES_ALONE_MS = 30_000;
/** Images beyond this are scaled down by the models anyway. */
export const SCREENSHOT_MAX_SIDE = 1568;
/** The limits of `max_side`: a smaller picture shows nothing, and a larger one fits into no frame. */
export const SCREENSHOT_SIDES = { least: 64, most: 8192 };
/** A picture that is encoded quickly and has more characters of base64 than this is encoded well: answers have room for 5 MB. */
export const QUICK_PICTURE_MAX = 3_000_000;
/** Pictures before and after acts are for the person, who sees them beside each other. */
export const ACT_PICTURE_SIDE = 1_000;
/** How long an act waits for such a picture. */
export const ACT_PICTURE_MS = 1_500;
/** The browser refuses an extension a third picture of a window within a second. */
export const VISIBLE_PAUSE_MS = 510;
/** A page that a window shows paints two frames within this time. */
export const VISIBLE_PAINT_MS = 1_000;
/** A capture takes 40 to 100 ms; one that takes longer may need to be asked for again. */
export const SCREENSHOT_PATIENCE_MS = 200;
/** File systems take no longer names of files. */
export const FILE_NAME_MAX = 255;
/** A free frame answers within milliseconds; a frame that does not is left out of the answer. */
export const FRAME_ANSWER_MS = 1_000;
/** How long a target is looked for, and waited for to be ready, if nothing else is asked for. */
export const TARGET_WAIT_MS = 5_000;
/** Things that change no element (styles, timers, new frames) are seen no later than this. */
export const LOOK_AGAIN_MS = 250;
/** While a document loads, its changes are told by nothing. */
export const LOADING_LOOK_MS = 50;
/** A page that changes all the time is looked at this often, at most. */
export const LOOK_PAUSE_MS = 15;
/** Two frames of 60 a second, and a little. */
export const REST_MS = 36;
/** How many of the elements that fit a target are looked at. */
export const FITTING_MAX = 50;
/** How many elements an error names. */
export const CANDIDATES_MAX = 5;
/** Documents of a tab whose elements are still known by name. */
export const REF_DOCUMENTS_MAX = 100;
/** How long a snapshot is, in bytes of JSON, if nothing else is asked for: of longer answers clients show their models a part. */
export const SNAPSHOT_BYTES_USUAL = 10_000;
/** Snapshots that are remembered for the next difference, and how much of each, in characters. */
export const SNAPSHOTS_MAX = 24;
export const SNAPSHOT_KEPT = 400_000;
/** Clipboards of clients, and how much of a page each holds, in characters. */
export const CLIPBOARDS_MAX = 24;
export const CLIPBOARD_CHARACTERS = 1_000_000;
/** How long the person's clipboard is kept from a page after an act: a page may copy for 5 s after a click. */
export const CLIPBOARD_GUARD_MS = 60_000;
export const CLIPBOARD_GUARD_LEFT_MS = 20_000;
/** Documents whose clipboard is guarded, or was. */
export const GUARDED_DOCUMENTS_MAX = 1_000;
/** The browser has no focused window for this long only while the person uses another program. */
export const AWAY_MS = 300;
/** A new window takes the focus within this time. */
export const FOCUS_BACK_MS = 1_000;
/** The paste of a middle click comes with the click. */
export const PASTE_GUARD_MS = 1_000;
/** As others that automate browsers have it: without a request for this long the network is idle. */
export const NETWORK_IDLE_MS = 500;
/** A tab with more events of the network within this time is not counted: each of them costs the worker. */
export const OPEN_REQUESTS_FLOOD = 2_000;
export const OPEN_REQUESTS_WINDOW_MS = 1_000;
/** Answers for documents of a tab that are kept until one of them is its page: those for frames come between. */
export const DOCUMENT_ANSWERS_KEPT = 32;
/** Requests that a page leaves open for ever fill the worker: with more of them, none is counted; and how much of a URL is kept. */
export const OPEN_REQUESTS_COUNTED = 1_000;
export const OPEN_URL_KEPT = 1_000;
/** A wait for a download takes one that has begun this long before: the click that it is of came first. */
export const DOWNLOAD_RECENT_MS = 30_000;
/** A dialog that nobody answers is dismissed this long before its command's time ends, so that the command can tell of it. */
export const HOLD_END_MS = 1_000;
/** How much of a page's own words in a dialog agents get. */
export const DIALOG_TEXT_MAX = 2_000;
/** Pictures whose points may be clicked. */
export const PICTURES_MAX = 50;
/** Downloads whose tab is remembered. */
export const DOWNLOADS_MAX = 100;
/** How much of its URL, which may be all of the file. */
export const DOWNLOAD_URL_KEPT = 2_000;
/** How much of a page's own words on a tool agents get. */
export const PAGE_TOOL_DESCRIPTION_MAX = 1_000;
export const PAGE_TOOL_SCHEMA_MAX = 8_000;
/** A tab that an agent brings to the front is there by then; later it is the person who goes to it. */
export const BROUGHT_MS = 2_000;
/** The browser shows a neighbour of a closed tab within this time. */
export const CLOSED_BESIDE_MS = 500;
/** A page answers by then whether it asks before it is closed, or is left open for now. */
export const UNLOAD_ASK_MS = 1_000;
/** A tab that is open this long after it was closed asks the person. */
export const CLOSING_MS = 1_000;
/** Events of an act may come this long after its end. */
export const ACT_RECENT_MS = 500;
/** Events of a move that we make come within this time. */
export const OWN_MOVE_MS = 2_000;
/** The longest title of a group of tabs. */
export const GROUP_TITLE_MAX = 40;
/** A daemon that has a list of agents' tabs has sent it this long after the connection. */
export const LIST_MS = 2_000;
/** A page that is seen again has its size by then, or is too busy to be told. */
export const SIZE_MS = 1_000;
/** How often it is looked whether a page has its size. */
export const SIZE_STEP_MS = 20;
/** Tabs that a browser brings back are looked for this long after its start. */
export const FORMER_MS = 10 * 60_000;
/** How often the frames of other extensions are set aside in a tab, and by its documents' own guards, within this time. */
export const ASIDE_MAX = 12;
export const ASIDE_GUARD_MAX = 24;
export const ASIDE_WITHIN_MS = 10_000;
/** A page is let be for this long where that does not help, or where frames have cut off so many commands meanwhile. */
export const HOPELESS_MS = 60_000;
export const CUT_OFF_MAX = 3;
/** Protocol commands that fail within this time are of one command. */
export const CUT_OFF_ONE_MS = 500;
/** Frames of other extensions whose arrival in a tab is remembered. */
export const ARRIVED_MAX = 50;
/** Extensions that the popup names. Pages can put any id into the address of a frame. */
export const ASIDE_NAMES_MAX = 12;
/** A frame is aside 11 to 24 ms after it was told so. */
export const ASIDE_LEFT_MS = 250;
export const ASIDE_LOOK_MS = 4;
/** Attaching while a frame still loads can succeed, and is refused a moment later. */
export const ASIDE_TRIES = 6;
/** The debugger answers within a millisecond or two where it has really been attached. */
export const ASIDE_CONFIRM_MS = 1_000;
/** Frames are put back this soon after the last command that needed the debugger. */
export const ASIDE_REST_MS = 250;
/** Without a worker they are back after this time. While they are needed they are told to stay aside, as often. */
export const ASIDE_KEEP_MS = 3 * 60_000;
export const ASIDE_KEEP_AGAIN_MS = 60_000;
/** The browser takes a person, or us, for active in a page for this long after a key or a click. */
export const TYPED_MS = 5_500;
/** The browser tells the end of a debugger's session within this time of the command that it cuts off. */
export const LOST_MS = 200;
/** The browser says this soon after a private tab has come which page has opened it. */
export const PRIVATE_LOOK_MS = 500;
/** A command that waits for longer than this may wait for the work of a page that is seen. Nearly all are over before, or meet it at once. */
export const UNSEEN_AFTER_MS = 300;
/** A script that runs for longer than this waits for something, which may come with a frame. Nearly all are over before. */
export const PAINT_AFTER_MS = 50;
/** A person shows a piece of work within this time, and what is forgotten does not go on. */
export const SHOWING_MS = 10 * 60_000;
