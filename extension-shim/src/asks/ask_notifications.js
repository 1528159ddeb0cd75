// @ts-check
// Questions as notifications of the system, where the person has allowed those in the popup. Only the browser
// itself reports a click there: no page and no agent can make one.

/** @import {AskAnswer, OpenAsk} from '../../types/protocol.js' */

import { purposeOf } from '../lib/consent.js';
import { NOTIFICATION_BUTTONS_MAX, NOTIFIED_FILE_MAX } from './limits.js';

const PREFIX = 'ask:';
const POPUP = 'popup/popup.html';

export class AskNotifications {
  #isListening = false;
  /** @type {OpenAsk[]} */
  #open = [];
  /** @type {Promise<void>} */
  #work = Promise.resolve();
  /** The person has clicked a button. @type {(correlationId: string, answer: AskAnswer) => void} */
  onAnswer = () => {};

  /** The browser gives the interface with the permission, maybe while the worker runs. */
  listen() {
    if (this.#isListening || !chrome.notifications) return;
    this.#isListening = true;
    chrome.notifications.onButtonClicked.addListener((id, button) => this.#handleButton(id, button));
    chrome.notifications.onClicked.addListener((id) => { if (id.startsWith(PREFIX)) openPopup().catch(console.debug); });
    this.follow(this.#open);
  }

  /** @param {OpenAsk[]} asks that are open now */
  follow(asks) {
    this.#open = asks;
    this.#work = this.#work.then(() => this.#follow(asks)).catch(console.warn);
  }

  /** @param {OpenAsk[]} asks */
  async #follow(asks) {
    if (!chrome.notifications) return;
    const shown = Object.keys(await chrome.notifications.getAll()).filter((id) => id.startsWith(PREFIX));
    const open = asks.map(({ correlation_id }) => PREFIX + correlation_id);
    await Promise.all(shown.filter((id) => !open.includes(id)).map((id) => chrome.notifications.clear(id)));
    for (const ask of asks) {
      const id = PREFIX + ask.correlation_id;
      if (!shown.includes(id)) await chrome.notifications.create(id, notificationOf(ask));
    }
  }

  /** @param {string} id @param {number} button */
  #handleButton(id, button) {
    const ask = this.#open.find(({ correlation_id }) => PREFIX + correlation_id === id);
    const answer = ask && buttonsOf(ask)[button]?.answer;
    if (answer) this.onAnswer(ask.correlation_id, answer);
  }
}

/** @param {OpenAsk} ask @returns {{title: string, answer: AskAnswer}[]} none: it is answered in the popup */
function buttonsOf(ask) {
  // All its files must be seen before they are allowed.
  if (ask.kind === 'consent' && ask.need.files && ask.question.length > NOTIFIED_FILE_MAX) return [{ title: 'Deny', answer: { kind: 'consent', consent: 'deny' } }];
  // The browser gives a permission in answer to a click in the popup alone.
  if (ask.kind === 'consent' && ask.need.kind === 'permission') return [{ title: 'Deny', answer: { kind: 'consent', consent: 'deny' } }];
  // Words that are kept are given in the popup.
  if (ask.kind === 'consent') return [{ title: 'Allow once', answer: { kind: 'consent', consent: 'once' } }, { title: 'Deny', answer: { kind: 'consent', consent: 'deny' } }];
  if (ask.kind === 'approve') return [{ title: 'Allow', answer: { kind: 'allow' } }, { title: 'Deny', answer: { kind: 'deny' } }];
  // A step begins and ends in the popup.
  if (ask.kind !== 'choose' || ask.options.length > NOTIFICATION_BUTTONS_MAX) return [];
  return ask.options.map((title, index) => ({ title, answer: { kind: 'option', index } }));
}

/** @param {OpenAsk} ask @returns {chrome.notifications.NotificationCreateOptions} */
function notificationOf(ask) {
  return {
    type: 'basic',
    iconUrl: chrome.runtime.getURL('icons/icon-128.png'),
    title: titleOf(ask),
    message: ask.question,
    contextMessage: ask.browser_label ? `Tabwire, about the browser ${ask.browser_label}` : 'Tabwire',
    buttons: buttonsOf(ask).map(({ title }) => ({ title })),
    requireInteraction: true,
  };
}

/** @param {OpenAsk} ask */
function titleOf(ask) {
  const who = ask.client ? `Agent “${ask.client}”` : 'An agent';
  return ask.kind === 'consent' ? `${who} wants to ${purposeOf(ask.need)}` : `${who} asks you`;
}

async function openPopup() {
  try {
    await chrome.action.openPopup();
  } catch {
    // Without a browser window in front it opens as a window of its own.
    await chrome.windows.create({ url: chrome.runtime.getURL(POPUP), type: 'popup', width: 400, height: 640 });
  }
}
