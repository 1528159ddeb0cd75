// @ts-check
// Choosers of files that pages open in acts. None is shown: it would come up in front of the person.

import { cdp, onRegained, sessionKey } from './debugger.js';
import { CHOOSER_LINGER_MS } from './limits.js';

const METHOD = 'Page.setInterceptFileChooserDialog';

/**
 * @typedef {object} Interception
 * @property {number} users acts that run
 * @property {boolean} isOn
 * @property {Promise<unknown>} begun
 * @property {() => void} endRegaining
 * @property {ReturnType<typeof setTimeout> | undefined} timer no act runs, and it ends soon
 */

/** By session of the debugger: with one that ends, its interception ends. @type {WeakMap<object, Interception>} */
const interceptions = new WeakMap();

/**
 * Has no chooser shown from now on. Steps of a batch and calls of a script follow each other at once: the interception
 * stays on for a moment, so that they need not switch it on again, and no answer waits for it to be switched off.
 * @param {number} tabId to which the debugger is attached
 * @returns {{isOn: boolean, begun: Promise<unknown>, end: () => void}} `isOn`: none is shown; `begun`: none is shown by then
 */
export function interceptChoosers(tabId) {
  const session = sessionKey(tabId) ?? {};
  const interception = interceptions.get(session) ?? begin(tabId, session);
  clearTimeout(interception.timer);
  interception.users += 1;
  return {
    isOn: interception.isOn,
    begun: interception.begun,
    end: () => {
      interception.users -= 1;
      if (interception.users === 0) interception.timer = setTimeout(end, CHOOSER_LINGER_MS, tabId, session, interception);
    },
  };
}

/** @param {number} tabId @param {object} session @returns {Interception} */
function begin(tabId, session) {
  // After what the act asks for at once: its first event waits for both.
  const begun = Promise.resolve().then(() => cdp(tabId, METHOD, { enabled: true }));
  /** @type {Interception} */
  const interception = { users: 0, isOn: false, begun, endRegaining: onRegained(tabId, METHOD, { enabled: true }), timer: undefined };
  interceptions.set(session, interception);
  begun.then(() => { interception.isOn = true; }, (error) => {
    console.debug(error);
    // The next act tries again.
    if (interceptions.get(session) === interception) interceptions.delete(session);
  });
  return interception;
}

/** @param {number} tabId @param {object} session @param {Interception} interception */
function end(tabId, session, interception) {
  interception.endRegaining();
  // It has ended with its session, or another has begun after a failure.
  if (sessionKey(tabId) !== session || interceptions.get(session) !== interception) return;
  interceptions.delete(session);
  cdp(tabId, METHOD, { enabled: false }).catch(console.debug);
}
