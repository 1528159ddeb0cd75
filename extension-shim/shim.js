// @ts-check
// Puts the parts together: what a welcome sets off, and which frame goes to which part.

/** @import {ToExtension, Welcome} from './protocol.js' */

import { actions } from './actions/index.js';
import { showStatus } from './badge.js';
import { loadConfig } from './config.js';
import { Dispatcher } from './dispatcher.js';
import { browserLabel, Identity } from './identity.js';
import { Link } from './link.js';
import { Outbox } from './outbox.js';
import { tabs } from './state.js';
import { Takeover } from './takeover.js';

const takeover = new Takeover();
const outbox = new Outbox((text) => link.sendText(text));
export const dispatcher = new Dispatcher(actions, outbox, (frame) => link.send(frame));
export const link = new Link(new Identity(), takeover, {
  loadConfig, prepare, onWelcome, onFrame, onStatus: showStatus,
});

/** @type {Promise<unknown> | undefined} */
let restored;

/** What an earlier worker left is read once, what is open each time. */
async function prepare() {
  restored ??= Promise.all([outbox.restore(), takeover.restore()]);
  await Promise.all([restored, tabs.load()]);
}

/** @param {Welcome} welcome */
function onWelcome({ epoch }) {
  dispatcher.enterEpoch(epoch);
  link.send({
    type: 'ready',
    label: browserLabel(),
    user_agent: navigator.userAgent,
    actions: Object.keys(actions),
    tabs: tabs.listToTell(),
    in_flight: dispatcher.inFlight(),
  });
  outbox.replay();
}

/** @param {ToExtension} frame @returns {boolean} false: not a type that we know */
function onFrame(frame) {
  switch (frame.type) {
    case 'command': dispatcher.handleCommand(frame); break;
    case 'go': dispatcher.handleGo(frame); break;
    case 'cancel': dispatcher.handleCancel(frame); break;
    case 'result_ack': dispatcher.handleResultAck(frame); break;
    case 'nack': dispatcher.handleNack(frame); break;
    case 'capture': // There is nothing to record.
    case 'challenge':
    case 'welcome':
    case 'ping': break;
    default: return false;
  }
  return true;
}

tabs.onChange = (list) => link.send({ type: 'tabs', tabs: list });
