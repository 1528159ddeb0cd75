// @ts-check
// Draw mode, the worker's side: takes a picture of a page, opens a tab of the extension's own for the person to
// draw on it, and reports the outcome to the daemon, even if that is only that the page or the tab is gone.

/** @import {AnnotationsAckFrame, AnnotationsOverFrame} from '../../types/protocol.js' */
/** @import {MarkTarget} from '../injected/mark_elements.js' */
/** @import {Drawing} from './frames.js' */
/** @import {DeliveryResult} from './deliveries.js' */
/** @import {DrawingWait, DrawingRequest, OpenDrawing} from './open_drawings.js' */

import { withOwner } from '../browser/site_guard.js';
import { policy, tabs } from '../browser/state.js';
import { ActionError, messageOf, navigationInterrupted } from '../lib/errors.js';
import { within } from '../lib/within.js';
import { assertReachable, drawnTab, drawPageUrl } from '../policy/pages.js';
import { hidesOwner } from '../policy/sites.js';
import { Deliveries } from './deliveries.js';
import { dropDraft, keepPicture, keptWork } from './drafts.js';
import { closeDrawTab, openDrawTab, tellDrawTab } from './draw_tab.js';
import { cancelledFrames, framesOf } from './frames.js';
import { DRAW_OPEN_MS } from './limits.js';
import { OpenDrawings } from './open_drawings.js';
import { elementsUnder, pictureOf } from './picture.js';

/**
 * A request from the page of a drawing, or from the popup, to the worker.
 * @typedef {{draw: 'open'} | {draw: 'load'} | {draw: 'elements', marks: MarkTarget[], styles: boolean}
 *   | {draw: 'send', drawing: Drawing, asks: DrawingWait[]} | {draw: 'cancel'} | {draw: 'close'}} DrawMessage
 * @typedef {{was_open: boolean, url: string, title: string}} OpenResult
 */

const NO_ELEMENTS = { elements: {}, near: {}, element_details: {} };

export class DrawMode {
  #drawings = new OpenDrawings();
  #deliveries = new Deliveries((text) => this.send(text));
  /** One drawing at a time is opened: two at once would be two of one page. @type {Promise<unknown>} */
  #opening = Promise.resolve();
  /** Waits whose drawing is being opened. @type {Set<string>} */
  #coming = new Set();
  /** Called when the page for a drawing is there, by the tab that the picture is of. @type {Map<number, () => void>} */
  #loading = new Map();
  /** @type {(text: string) => boolean} false: no daemon is connected */
  send = () => false;
  #looking = Promise.resolve();
  /** The drawings that agents wait for in tabs that are not in front. @type {DrawingRequest[]} */
  requests = [];
  /** Others are waited for, or in front. @type {(requests: DrawingRequest[]) => void} */
  onRequests = () => {};

  constructor() {
    this.#drawings.onChange = () => this.handleFront();
  }

  /**
   * Lets the person draw on a picture of a tab, or finds that they do.
   * @param {chrome.tabs.Tab & {id: number}} tab @param {DrawingWait} [ask] absent: the person wants to draw
   * @param {() => void} [begin] called when it is its turn; throws if the command was cancelled
   */
  open(tab, ask, begin = () => {}) {
    if (ask) this.#coming.add(ask.correlation_id);
    const opened = this.#opening.then(begin).then(() => this.#open(tab, ask))
      .finally(() => ask && this.#coming.delete(ask.correlation_id));
    this.#opening = opened.catch(() => {});
    return opened;
  }

  /** @param {chrome.tabs.Tab & {id: number}} tab @param {DrawingWait} [ask] @returns {Promise<OpenResult>} */
  async #open(tab, ask) {
    assertReachable(tab);
    await policy.restore();
    await policy.admitTab(await withOwner(tab));
    const before = await this.#drawings.get(tab.id);
    const asks = [...(before?.asks ?? []).filter(({ correlation_id }) => correlation_id !== ask?.correlation_id), ...(ask ? [ask] : [])];
    const is_persons = before?.is_persons === true || !ask;
    if (before?.draw_tab === undefined) return this.#openAnew(tab, { asks, is_persons });
    await this.#drawings.change(tab.id, { asks, is_persons });
    if (!await tellDrawTab(before.draw_tab, { drawing: 'asked', ask: ask ?? {} })) await chrome.tabs.reload(before.draw_tab);
    // The person is looking at the page, and the drawing lies beside it.
    if (tab.active) await chrome.tabs.update(before.draw_tab, { active: true });
    return { was_open: true, url: before.page_url, title: before.page_title };
  }

  /** @param {chrome.tabs.Tab & {id: number}} tab @param {Pick<OpenDrawing, 'asks' | 'is_persons'>} waits @returns {Promise<OpenResult>} */
  async #openAnew(tab, waits) {
    const document_id = await documentIn(tab.id);
    const picture = await pictureOf(tab.id);
    const { url: page_url = '', title: page_title = '', owner } = await withOwner(await tabs.fresh(tab.id));
    if (document_id === undefined || document_id !== await documentIn(tab.id)) throw navigationInterrupted();
    await keepPicture(tab.id, picture).catch((error) => { throw noRoom(error); });
    await this.#drawings.put(tab.id, { ...waits, document_id, page_url, page_title, owner });
    try {
      await within(DRAW_OPEN_MS, this.#showTab(tab));
    } catch (error) {
      await this.#end(tab.id);
      throw new ActionError('internal', `the tab to draw in did not open (${messageOf(error)}); try again`);
    } finally {
      this.#loading.delete(tab.id);
    }
    return { was_open: false, url: page_url, title: page_title };
  }

  /** Until the person can begin. @param {chrome.tabs.Tab & {id: number}} tab */
  async #showTab(tab) {
    const loaded = new Promise((/** @type {(value?: undefined) => void} */ resolve) => { this.#loading.set(tab.id, resolve); });
    await this.#drawings.change(tab.id, { draw_tab: await openDrawTab(tab) });
    await loaded;
  }

  /** Another tab or window has come to the front, or other drawings are waited for. */
  handleFront() {
    // One look after the other, so that the result of the last one stays.
    this.#looking = this.#looking.then(() => this.#lookForRequests()).catch(console.debug);
  }

  async #lookForRequests() {
    await this.#drawings.restore();
    const open = this.#drawings.requests();
    const inFront = open.length > 0 ? await tabs.inFront() : undefined;
    this.requests = open.filter(({ draw_tab }) => draw_tab !== inFront).map(({ tab_id, page_title, asks }) => ({ tab_id, page_title, asks }));
    this.onRequests(this.requests);
  }

  /** Brings the tab to draw in to the front. @param {number} tabId the tab that the picture is of */
  async show(tabId) {
    const drawTab = (await this.#drawings.get(tabId))?.draw_tab;
    if (drawTab === undefined) throw new Error('nobody asks for this drawing any more');
    await tabs.bringToFront(drawTab);
  }

  /** Whose drawings are open, or about to be. */
  waits() {
    return [...new Set([...this.#coming, ...this.#drawings.waits()])];
  }

  /** @param {AnnotationsOverFrame} frame */
  handleOver({ correlation_ids }) {
    this.#withdraw(correlation_ids).catch(console.warn);
  }

  /** @param {string[]} over */
  async #withdraw(over) {
    // One that is being opened for them is there then.
    await Promise.all([this.#opening, this.#drawings.restore()]);
    await Promise.all(this.#drawings.tabsFor(over).map((tabId) => this.#withdrawFrom(tabId, over)));
  }

  /** The drawing's page decides the fate of the drawing. A page that does not answer learns of the end when it loads. @param {number} tabId @param {string[]} over */
  async #withdrawFrom(tabId, over) {
    const { draw_tab, over: before = [] } = await this.#drawings.get(tabId) ?? {};
    const isTold = draw_tab !== undefined && await tellDrawTab(draw_tab, { drawing: 'over', correlation_ids: over });
    if (isTold) await this.#drawings.dropAsks(tabId, over);
    else await this.#drawings.change(tabId, { over: [...before, ...over] });
  }

  /** Reads the state that an earlier worker left. */
  async restore() {
    await Promise.all([this.#drawings.restore(), this.#deliveries.restore()]);
    await Promise.all(this.#drawings.tabs().map((tabId) => this.#lookAgain(tabId)));
    this.handleFront();
  }

  /** No event reports changes from the time when no worker ran. @param {number} tabId */
  async #lookAgain(tabId) {
    const documentId = await documentIn(tabId);
    await this.handleCommitted({ tabId, frameId: 0, documentId });
    const drawTab = (await this.#drawings.get(tabId))?.draw_tab;
    if (drawTab === undefined) return;
    if (!await tabs.isOpen(drawTab)) await this.handleGone(drawTab);
    // The page went with the extension's process. Its draft is stored, and shown again after a reload.
    else tellDrawTab(drawTab, { drawing: 'ping' }).then((heard) => (heard ? undefined : chrome.tabs.reload(drawTab))).catch(console.debug);
  }

  handleConnected() {
    this.#deliveries.handleConnected().catch(console.warn);
  }

  /** @param {AnnotationsAckFrame} ack */
  handleAck(ack) {
    this.#deliveries.handleAck(ack).catch(console.warn);
  }

  /** A tab is closed: one that is drawn in, or one that the picture is of. @param {number} tabId @param {{isWindowClosing?: boolean}} [so] */
  async handleGone(tabId, { isWindowClosing = false } = {}) {
    const drawn = await this.#drawings.shownIn(tabId);
    if (drawn === undefined) return this.#handlePageGone(tabId);
    // This worker goes on delivering a drawing that was sent, as long as it runs.
    if (this.#deliveries.has(drawn)) await this.#end(drawn);
    else await this.#giveUp(drawn, isWindowClosing ? 'page_closed' : 'user');
  }

  /** @param {{tabId: number, frameId: number, documentId?: string, url?: string}} details of a navigation that has come to its page */
  async handleCommitted({ tabId, frameId, documentId, url }) {
    if (frameId !== 0) return;
    const drawn = await this.#drawings.shownIn(tabId);
    // The person has gone elsewhere in the tab that they drew in.
    if (drawn !== undefined && url !== undefined && url !== drawPageUrl(drawn)) await this.handleGone(tabId);
    const drawing = await this.#drawings.get(tabId);
    if (drawing && drawing.document_id !== documentId) await this.#handlePageGone(tabId);
  }

  /** A page has opened a tab or window. That is not to take the keyboard from a person who draws on the page's picture. @param {number} tabId the page's */
  async handleOpened(tabId) {
    const drawTab = (await this.#drawings.get(tabId))?.draw_tab;
    if (drawTab === undefined) return;
    const [drawing, page] = await Promise.all([chrome.tabs.get(drawTab), chrome.tabs.get(tabId)]);
    // Else they have gone back to the page, and opened it themselves.
    if ((drawing.lastAccessed ?? 0) > (page.lastAccessed ?? 0)) await tabs.bringToFront(drawTab);
  }

  /** A drawing that has been begun does not go with its page: the picture is still there. @param {number} tabId */
  async #handlePageGone(tabId) {
    const work = await keptWork(tabId);
    if (work?.is_begun) await this.#drawings.change(tabId, { document_id: null });
    else await this.#giveUp(tabId, 'page_closed');
  }

  /** No drawing will come: each wait gets a frame that ends it. @param {number} tabId @param {'user' | 'page_closed'} why */
  async #giveUp(tabId, why) {
    this.#deliveries.giveUp(tabId);
    const drawing = await this.#drawings.take(tabId);
    if (!drawing) return;
    const { asks, page_url, page_title } = drawing;
    await this.#deliveries.owe(cancelledFrames(asks, { page_url, page_title }, tabId, why));
    await tidyUp(tabId, drawing);
  }

  /** @param {number} tabId */
  async #end(tabId) {
    const drawing = await this.#drawings.take(tabId);
    if (drawing) await tidyUp(tabId, drawing);
  }

  /**
   * @param {any} ask @param {chrome.runtime.MessageSender} sender a page of the extension's own
   * @returns {Promise<unknown> | undefined} undefined: it is not about drawing
   */
  handleMessage(ask, { tab }) {
    if (typeof ask?.draw !== 'string') return undefined;
    const answer = ask.draw === 'open' ? this.#openForPerson() : this.#serve(ask, tab?.id);
    return answer.catch((error) => ({ error: describe(error) }));
  }

  async #openForPerson() {
    const inFront = await tabs.inFront();
    const front = inFront === undefined ? undefined : await chrome.tabs.get(inFront).catch(() => undefined);
    // A drawing is kept, and goes to an agent.
    if (front?.incognito) throw new ActionError('not_in_private', 'a drawing would leave a trace of a page in a private window');
    return this.open(await tabs.fresh(undefined));
  }

  /** @param {DrawMessage} ask @param {number | undefined} drawTab @returns {Promise<unknown>} */
  async #serve(ask, drawTab) {
    const tabId = drawTab === undefined ? undefined : await this.#tabDrawnIn(drawTab);
    const drawing = tabId === undefined ? undefined : await this.#drawings.get(tabId);
    if (tabId === undefined || !drawing) throw new ActionError('internal', 'nothing is drawn in this tab');
    switch (ask.draw) {
      case 'load': return this.#load(tabId, drawing);
      case 'elements': return this.#elements(tabId, drawing, ask);
      case 'send': return this.#deliver(tabId, drawing, ask);
      case 'cancel': return this.#giveUp(tabId, 'user');
      case 'close': return this.#end(tabId);
      default: throw new ActionError('internal', 'the worker does not know this question of a drawing');
    }
  }

  /** The first page may load before the browser has answered which tab it opened. @param {number} drawTab */
  async #tabDrawnIn(drawTab) {
    const known = await this.#drawings.shownIn(drawTab);
    if (known !== undefined) return known;
    const tabId = drawnTab(await chrome.tabs.get(drawTab));
    if (tabId === undefined || !this.#loading.has(tabId) || (await this.#drawings.get(tabId))?.draw_tab !== undefined) return undefined;
    await this.#drawings.change(tabId, { draw_tab: drawTab });
    return tabId;
  }

  /** @param {number} tabId @param {OpenDrawing} drawing */
  async #load(tabId, { asks, over = [], is_persons, page_url, page_title }) {
    this.#loading.get(tabId)?.();
    await this.#drawings.dropAsks(tabId, over);
    return { asks, over, is_persons, page_url, page_title };
  }

  /** @param {number} tabId @param {OpenDrawing} drawing @param {{marks: MarkTarget[], styles: boolean}} ask */
  async #elements(tabId, drawing, { marks, styles }) {
    await assertPermitted(drawing);
    try {
      if (drawing.document_id !== await documentIn(tabId)) return NO_ELEMENTS;
      const found = await elementsUnder(tabId, marks, styles);
      return drawing.document_id === await documentIn(tabId) ? found : NO_ELEMENTS;
    } catch (error) {
      // A page that cannot be asked now does not hold up the person's words.
      console.debug('tabwire: no elements for a drawing', error);
      return NO_ELEMENTS;
    }
  }

  /** @param {number} tabId @param {OpenDrawing} open @param {{drawing: Drawing, asks: DrawingWait[]}} ask @returns {Promise<DeliveryResult>} */
  async #deliver(tabId, open, { drawing, asks }) {
    await assertPermitted(open);
    const delivered = await this.#deliveries.deliver(tabId, framesOf(drawing, asks, tabId));
    if (delivered.state === 'kept') await this.#drawings.dropAsks(tabId, asks.map(({ correlation_id }) => correlation_id));
    return delivered;
  }
}

/** @param {number} tabId @returns {Promise<string | undefined>} */
async function documentIn(tabId) {
  const frame = await chrome.webNavigation.getFrame({ tabId, frameId: 0 }).catch(() => null);
  return frame?.documentId;
}

/**
 * Rules may have changed since it was taken, and the message may have woken the worker. To give a drawing up is always possible.
 * @param {OpenDrawing} drawing
 */
async function assertPermitted({ page_url, owner = null }) {
  await policy.restore();
  await policy.admitTab({ url: page_url, owner: hidesOwner(page_url) ? owner : 'null' });
}

/** @param {number} tabId @param {OpenDrawing} drawing */
async function tidyUp(tabId, { draw_tab }) {
  await dropDraft(tabId);
  if (draw_tab !== undefined) await closeDrawTab(draw_tab);
}

/** @param {unknown} error */
function noRoom(error) {
  return new ActionError('internal', `there is no room for the picture (${messageOf(error)}); send or cancel another drawing first`);
}

/** @param {unknown} error */
function describe(error) {
  return { code: error instanceof ActionError ? error.code : 'internal', message: messageOf(error) };
}
