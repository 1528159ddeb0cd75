// @ts-check
// Draw mode, the worker's side: opens the overlay, serves what it asks for, and tells the daemon what comes
// of it, if only that its page is gone.

/** @import {AnnotationsAckFrame, AnnotationsOverFrame} from '../protocol.js' */
/** @import {Target} from '../page/under.js' */
/** @import {Drawing} from './frames.js' */
/** @import {Delivered} from './deliveries.js' */
/** @import {Ask} from './overlays.js' */

import { attach } from '../debugger.js';
import { ActionError, messageOf } from '../errors.js';
import { assertReachable } from '../pages.js';
import { withOwner } from '../site_guard.js';
import { policy, tabs } from '../state.js';
import { Deliveries } from './deliveries.js';
import { cancelledFrames, framesOf } from './frames.js';
import { openIn, withdrawIn } from './open.js';
import { Overlays } from './overlays.js';
import { elementsUnder, picture } from './picture.js';

/**
 * What an overlay, or the popup, asks the worker.
 * @typedef {{draw: 'open'} | {draw: 'picture'} | {draw: 'elements', marks: Target[], styles: boolean}
 *   | {draw: 'send', drawing: Drawing, asks: Ask[]} | {draw: 'cancel', asks: Ask[], page_url: string, page_title: string}} DrawAsk
 */

export class DrawMode {
  #overlays = new Overlays();
  #deliveries = new Deliveries((text) => this.send(text));
  /** One overlay at a time is opened: two at once would be two in one page. @type {Promise<unknown>} */
  #opening = Promise.resolve();
  /** Waits whose overlay is being opened. @type {Set<string>} */
  #coming = new Set();
  /** @type {(text: string) => boolean} false: there is no daemon to hear it */
  send = () => false;

  /**
   * Opens the overlay in a tab, or finds it open.
   * @param {chrome.tabs.Tab & {id: number}} tab @param {Ask} [ask] absent: the person wants to draw
   * @param {() => void} [begin] called when it is its turn; throws if nobody wants it any more
   */
  open(tab, ask, begin = () => {}) {
    if (ask) this.#coming.add(ask.correlation_id);
    const opened = this.#opening.then(begin).then(() => this.#open(tab, ask))
      .finally(() => ask && this.#coming.delete(ask.correlation_id));
    this.#opening = opened.catch(() => {});
    return opened;
  }

  /** @param {chrome.tabs.Tab & {id: number}} tab @param {Ask} [ask] */
  async #open(tab, ask) {
    assertReachable(tab);
    await assertPermitted(tab);
    // The picture needs it. Now, since its bar takes height from the page, and what is drawn would not fit any more.
    attach(tab.id).catch(console.debug);
    const { documentId, ...opened } = await openIn(tab.id, ask);
    const before = opened.was_open ? (await this.#overlays.get(tab.id))?.asks ?? [] : [];
    const asks = before.filter(({ correlation_id }) => correlation_id !== ask?.correlation_id);
    await this.#overlays.put(tab.id, { asks: ask ? [...asks, ask] : asks, document_id: documentId, page_url: opened.url });
    return opened;
  }

  /** Whose overlays are open, or about to be. */
  waits() {
    return [...new Set([...this.#coming, ...this.#overlays.waits()])];
  }

  /** @param {AnnotationsOverFrame} frame */
  handleOver({ correlation_ids }) {
    this.#withdraw(correlation_ids).catch(console.warn);
  }

  /** @param {string[]} over */
  async #withdraw(over) {
    // One that is being opened for them is there then.
    await Promise.all([this.#opening, this.#overlays.restore()]);
    await Promise.all(this.#overlays.tabsFor(over).map((tabId) => this.#withdrawIn(tabId, over)));
  }

  /** What its page decides is the page's to do: here nobody waits for it any more. @param {number} tabId @param {string[]} over */
  async #withdrawIn(tabId, over) {
    await withdrawIn(tabId, over);
    await this.#overlays.dropAsks(tabId, over);
  }

  /** What an earlier worker left. */
  async restore() {
    await Promise.all([this.#overlays.restore(), this.#deliveries.restore()]);
    await Promise.all(this.#overlays.tabs().map((tabId) => this.#lookAgain(tabId)));
  }

  /** What happened while no worker lived, nobody tells. @param {number} tabId */
  async #lookAgain(tabId) {
    const frame = await chrome.webNavigation.getFrame({ tabId, frameId: 0 }).catch(() => null);
    await this.handleCommitted({ tabId, frameId: 0, documentId: frame?.documentId });
  }

  handleConnected() {
    this.#deliveries.handleConnected().catch(console.warn);
  }

  /** @param {AnnotationsAckFrame} ack */
  handleAck(ack) {
    this.#deliveries.handleAck(ack).catch(console.warn);
  }

  /** The tab is closed, or another page is in it. @param {number} tabId */
  async handleGone(tabId) {
    const overlay = await this.#overlays.take(tabId);
    // What is on its way is delivered by this worker, as long as it lives.
    if (!overlay || this.#deliveries.has(tabId)) return;
    await this.#deliveries.owe(cancelledFrames(overlay.asks, { page_url: overlay.page_url }, tabId, 'page_closed'));
  }

  /** @param {{tabId: number, frameId: number, documentId?: string}} details of a navigation that has come to its page */
  async handleCommitted({ tabId, frameId, documentId }) {
    if (frameId !== 0) return;
    const overlay = await this.#overlays.get(tabId);
    if (overlay && overlay.document_id !== documentId) await this.handleGone(tabId);
  }

  /**
   * @param {any} ask @param {chrome.runtime.MessageSender} sender
   * @returns {Promise<unknown> | undefined} undefined: it is not about drawing
   */
  handleMessage(ask, { tab, frameId }) {
    const isOverlays = tab?.id !== undefined;
    if (typeof ask?.draw !== 'string' || (isOverlays && frameId !== 0)) return undefined;
    const answer = isOverlays ? this.#serveIn(ask, tab) : this.#openForPerson();
    return answer.catch((error) => ({ error: describe(error) }));
  }

  /** @param {DrawAsk} ask @param {chrome.tabs.Tab} tab */
  async #serveIn(ask, tab) {
    // Rules may have changed since it was opened; to give it up is always possible.
    if (ask.draw !== 'cancel') await assertPermitted(tab);
    return this.#serve(ask, /** @type {number} */ (tab.id));
  }

  /** @param {DrawAsk} ask @param {number} tabId @returns {Promise<unknown>} */
  async #serve(ask, tabId) {
    switch (ask.draw) {
      case 'picture': return { screenshot_data_url: await picture(tabId) };
      case 'elements': return elementsUnder(tabId, ask.marks, ask.styles);
      case 'send': return this.#deliver(tabId, ask);
      case 'cancel': return this.#cancel(tabId, ask);
      default: throw new ActionError('internal', 'the worker does not know this question of the overlay');
    }
  }

  async #openForPerson() {
    return this.open(await tabs.fresh(undefined));
  }

  /** @param {number} tabId @param {{drawing: Drawing, asks: Ask[]}} ask @returns {Promise<Delivered>} */
  async #deliver(tabId, { drawing, asks }) {
    const delivered = await this.#deliveries.deliver(tabId, framesOf(drawing, asks, tabId));
    if (delivered.state === 'kept') await this.#overlays.take(tabId);
    return delivered;
  }

  /** @param {number} tabId @param {{asks: Ask[], page_url: string, page_title: string}} ask */
  async #cancel(tabId, { asks, page_url, page_title }) {
    this.#deliveries.giveUp(tabId);
    await this.#overlays.take(tabId);
    await this.#deliveries.owe(cancelledFrames(asks, { page_url, page_title }, tabId, 'user'));
    return { state: 'kept' };
  }
}

/** What an overlay says may be what has woken the worker. @param {chrome.tabs.Tab} tab */
async function assertPermitted(tab) {
  await policy.restore();
  policy.assertTab(await withOwner(tab));
}

/** @param {unknown} error */
function describe(error) {
  return { code: error instanceof ActionError ? error.code : 'internal', message: messageOf(error) };
}
