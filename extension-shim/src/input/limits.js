// @ts-check
// Limits of acts with real input, each with its reason.

/** The time of a command whose agent has not chosen one, as the daemon has it. */
export const EXECUTE_USUAL_MS = 10_000;
/** The same of a command that holds dialogs. */
export const EXECUTE_HOLDING_MS = 60_000;
/** How long a target is waited for then. */
export const TARGET_USUAL_MS = 5_000;
/** Of a command's time, what is left for saying what it waited for in vain. */
export const TELL_MS = 500;
/** Two frames take a third of this. */
export const FRAMES_MS = 100;
/** A tab that paints has painted two frames long before; one that never does gets its input all the same. */
export const PAINT_MS = 1_000;
/** A navigation, tab or download that the page has asked the browser for begins within a few ms; one that does not was refused. */
export const BEGIN_MS = 500;
/** A document has told of the last keys of an act when the browser has answered them; one that has not is asked once more. */
export const EVENTS_MS = 5;
/** A look at the windows counts for this long: the press itself comes to the page no sooner after one that was just taken. */
export const RAISING_MS = 50;
/** Between two keys of a text that is typed slowly: a page draws a frame in it, or moves the focus on. */
export const KEY_PAUSE_MS = 16;
/** Keys that are sent without a look at the page that gets them. */
export const KEYS_AT_ONCE = 32;
/** A frame of another process has the focus by then, after its element. */
export const FOCUS_MS = 500;
/** A page that moves the focus from field to field has done so by then, also if a timer of a page in the background does. */
export const MOVE_MS = 1_200;
/** Lists that another choice fills have their options by then. */
export const OPTIONS_MS = 1_500;
/** A box that a page ticks itself, once it has drawn, is ticked by then. */
export const CHECKED_MS = 1_000;
/** Points of a view, in CSS px: no screen is larger. */
export const COORDINATES = { least: 0, most: 100_000 };
/** A page that has loaded its document this late is told as loading. */
export const LOAD_MS = 5_000;
/** The browser reports a drag and drop that the page has begun within a few ms. */
export const DRAG_BEGIN_MS = 1_000;
/** Moves of a drag between which it is not asked whether it may go on: they take a few ms. */
export const MOVES_AT_ONCE = 10;
/** A page that answers an event of a script has done so by then, also by a timer; one in the background has timers once a second. */
export const EFFECT_MS = 1_200;
/** How far a drag goes around its end, in CSS px: over both halves of a row whose middle is meant. */
export const DRAG_SWAY = 2;
/** How many views are scrolled until a text appears: a list without an end must end. */
export const SCROLL_STEPS = 500;
/** How often an element that was brought into view is looked for again, as the page has put another one in its place. */
export const SHOWN_TRIES = 3;
/** At the end of a list, more is waited for this long. */
export const SCROLL_END_MS = 1_500;
/** How often a target that moves when the pointer comes is followed. */
export const APPROACHES = 5;
/** A box that is scrolled is mostly called by the beginning of its text. */
export const BOX_NAME = 20;
