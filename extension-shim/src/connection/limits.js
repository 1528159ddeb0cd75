// @ts-check
// Waits, retries and sizes of the connection, each with its reason.

/** A loopback daemon that was restarted is back within tens of milliseconds. */
export const BACKOFF_FIRST_MS = 100;
/** Longer waits would be felt when the daemon comes back. */
export const BACKOFF_MAX_MS = 5_000;
/** The daemon gives us 5 s for `hello`; a peer slower than twice that is not the daemon. */
export const HANDSHAKE_MS = 10_000;
/** Two of the daemon's pings (20 s each) may be late before the link counts as dead. */
export const SILENCE_MS = 45_000;
/** After this many failed sockets in a row HTTP is tried: a restart alone rarely takes more. */
export const SOCKET_FAILURES = 3;
/** A refused socket costs a millisecond; an open one saves more than that with each command. */
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
/** The daemon takes bodies of 8 MiB; the rest is for the JSON around the frames. */
export const BODY_MAX_BYTES = 7.75 * 1024 * 1024;
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
/** More than the one sentence of a host's answer. */
export const HOST_MESSAGE_MAX = 500;
