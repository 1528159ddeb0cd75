// @ts-check
// Frames of other extensions, such as password managers put into pages. The browser keeps our debugger out of a tab that
// shows one, and takes it away where one appears. So they are navigated aside while agents work there, and back after
// that. The person is told, and has a switch.

/** @import {AsideAnswer, AsideOrder} from '../injected/frames_aside.js' */

import { framesAside, isPersonTyping } from '../injected/frames_aside.js';
import { foreignFrame } from '../lib/errors.js';
import { once } from '../lib/once.js';
import { pause } from '../lib/pause.js';
import { within } from '../lib/within.js';
import { extensionName, extensionNames, foreignFramesIn, foreignIdOf } from './foreign_extensions.js';
import { ASIDE_GUARD_MAX, ASIDE_KEEP_MS, ASIDE_LEFT_MS, ASIDE_LOOK_MS, ASIDE_MAX, ASIDE_NAMES_MAX, ASIDE_WITHIN_MS, CUT_OFF_MAX, CUT_OFF_ONE_MS, HOPELESS_MS, PAGE_PROBE_MS } from './limits.js';

const KEY = 'framesAside';
export const COMES_BACK = 'it comes back each time that it is set aside';

/** @typedef {{isOn: boolean, names: string[]}} AsideState `names`: of the extensions whose frames have been set aside */

export class FramesAside {
  /** @type {AsideState} */
  #state = { isOn: true, names: [] };
  /** When frames were set aside, of each tab where some are. @type {Map<number, number[]>} */
  #tabs = new Map();
  /** When frames have cut off commands, of each tab. @type {Map<number, number[]>} */
  #cutOffs = new Map();
  /** Until when nothing is set aside in tabs where it has not helped. @type {Map<number, number>} */
  #hopeless = new Map();

  restore = once(async () => {
    const stored = /** @type {Partial<AsideState> | undefined} */ ((await chrome.storage.local.get(KEY))[KEY]);
    if (stored) this.#state = { isOn: stored.isOn !== false, names: Array.isArray(stored.names) ? stored.names : [] };
  });

  /** @returns {AsideState} for the popup */
  get state() {
    return this.#state;
  }

  /** The person's word. @param {boolean} isOn */
  async setOn(isOn) {
    await this.restore();
    await this.#keep({ ...this.#state, isOn });
  }

  /** @param {number} tabId */
  has(tabId) {
    return this.#tabs.has(tabId);
  }

  /**
   * Navigates the frames of other extensions in a tab aside, and waits until they are.
   * @param {number} tabId @param {{isOurs: boolean, isSure: boolean}} so `isOurs`: what was typed there a moment ago was typed by
   *   us; `isSure`: the browser has said that a frame keeps the debugger out
   * @throws {ActionError} `foreign_extension_frame`: it may not be done now, or does not help
   */
  async setAside(tabId, { isOurs, isSure }) {
    await this.restore();
    const frames = await foreignFramesIn(tabId);
    const ids = frames.map(({ id }) => id);
    const refuse = (/** @type {string} */ why) => foreignFrame(extensionNames(ids), { why });
    const reason = await this.#reasonNotTo(tabId, isOurs);
    // A debugger that was lost may have been so for another reason, such as the end of the tab, which attaching tells.
    if (reason && !isSure && frames.length === 0) return;
    if (reason) throw refuse(reason);
    const now = performance.now();
    const times = [...(this.#tabs.get(tabId) ?? []).filter((at) => now - at < ASIDE_WITHIN_MS), now];
    if (times.length > ASIDE_MAX) this.giveUp(tabId);
    if ((this.#hopeless.get(tabId) ?? 0) > now) throw refuse(COMES_BACK);
    this.#tabs.set(tabId, times);
    const addresses = await this.#order(tabId);
    await this.#name([...ids, ...addresses.flatMap((address) => foreignIdOf(address) ?? [])]);
    await this.#atMost(tabId, 0);
  }

  /** A frame has cut off a command that had begun. @param {number} tabId */
  handleCutOff(tabId) {
    const [now, known] = [performance.now(), this.#cutOffs.get(tabId) ?? []];
    if (now - (known.at(-1) ?? -Infinity) < CUT_OFF_ONE_MS) return;
    const recent = [...known.filter((at) => now - at < HOPELESS_MS), now];
    this.#cutOffs.set(tabId, recent);
    if (recent.length >= CUT_OFF_MAX) this.giveUp(tabId);
  }

  /** Setting aside does not help in a tab. @param {number} tabId */
  giveUp(tabId) {
    this.#hopeless.set(tabId, performance.now() + HOPELESS_MS);
  }

  /** It may help in the next page of a tab. @param {number} tabId */
  handlePage(tabId) {
    this.#cutOffs.delete(tabId);
    this.#hopeless.delete(tabId);
  }

  /** The frames are in their place again. @param {number} tabId */
  async putBack(tabId) {
    if (!this.#tabs.delete(tabId)) return;
    await this.#tell(tabId, { what: 'back' });
  }

  /** They stay aside for longer. @param {number} tabId */
  keep(tabId) {
    if (this.has(tabId)) this.#tell(tabId, { what: 'keep' });
  }

  /** @param {number} tabId that is closed, or has another id */
  forget(tabId) {
    this.#tabs.delete(tabId);
    this.handlePage(tabId);
  }

  /**
   * Why frames of other extensions are left where they are in a tab, and keep the debugger out of it.
   * @param {number} tabId @param {boolean} isOurs as of `setAside`
   * @returns {Promise<{whose: string, why: string} | null>} null: there is none, or it would be set aside
   */
  async whyLeft(tabId, isOurs) {
    await this.restore();
    const frames = await foreignFramesIn(tabId);
    if (frames.length === 0) return null;
    const comesBack = (this.#hopeless.get(tabId) ?? 0) > performance.now();
    const why = await this.#reasonNotTo(tabId, isOurs) ?? (comesBack ? COMES_BACK : null);
    if (why === null || !(frames.some(({ isListed }) => isListed) || await this.#isShown(tabId))) return null;
    return { whose: extensionNames(frames.map(({ id }) => id)), why };
  }

  /** Whether a document holds a frame that may be one whose arrival alone is known: its end is told by nothing. @param {number} tabId */
  async #isShown(tabId) {
    const answers = await this.#tell(tabId, { what: 'look' });
    return answers.some(({ result }) => result && (result.addresses.length > 0 || result.unnamed > 0));
  }

  /** @param {number} tabId @returns {Promise<string[]>} the addresses of the frames that are on their way aside */
  async #order(tabId) {
    const answers = await this.#tell(tabId, { what: 'aside' });
    const told = answers.flatMap(({ result }) => result?.addresses ?? []);
    const unnamed = answers.filter(({ result }) => result && result.unnamed > 0);
    if (unnamed.length === 0) return told;
    // Only the browser knows the addresses of those without `src`: they are left when the others have gone.
    await this.#atMost(tabId, unnamed.reduce((sum, { result }) => sum + (result?.unnamed ?? 0), 0));
    const left = await foreignFramesIn(tabId);
    for (const { documentId, result } of unnamed) {
      const addresses = left.filter(({ parentDocumentId }) => parentDocumentId === documentId).map(({ url }) => url).slice(-(result?.unnamed ?? 0));
      // Of frames that are gone by now the arrival is known, too: those that are there came last.
      if (addresses.length > 0) await this.#tell(tabId, { what: 'aside', addresses }, [documentId]);
      told.push(...addresses);
    }
    return told;
  }

  /** @param {number} tabId @param {Pick<AsideOrder, 'what' | 'addresses'>} order @param {string[]} [documentIds] @returns {Promise<{documentId: string, result?: AsideAnswer}[]>} */
  async #tell(tabId, order, documentIds) {
    const target = documentIds ? { tabId, documentIds } : { tabId, allFrames: true };
    /** @type {AsideOrder} */
    const whole = { ...order, own: chrome.runtime.id, keepMs: ASIDE_KEEP_MS, most: ASIDE_GUARD_MAX, withinMs: ASIDE_WITHIN_MS };
    const script = { target, injectImmediately: true, func: framesAside, args: [whole] };
    // A frame that hangs holds up the answer, and not the others.
    return within(PAGE_PROBE_MS, chrome.scripting.executeScript(/** @type {any} */ (script))).catch(() => []);
  }

  /** Waits until a tab shows no more than so many frames of other extensions. @param {number} tabId @param {number} most */
  async #atMost(tabId, most) {
    const end = performance.now() + ASIDE_LEFT_MS;
    while (performance.now() < end && (await foreignFramesIn(tabId)).length > most) await pause(ASIDE_LOOK_MS);
  }

  /** @param {number} tabId @param {boolean} isOurs @returns {Promise<string | null>} why the person has it otherwise */
  async #reasonNotTo(tabId, isOurs) {
    if (!this.#state.isOn) return 'the person has switched off in the Tabwire popup that such frames are set aside';
    return await this.isTyping(tabId, isOurs) ? 'the person is using the keyboard in this tab' : null;
  }

  /** Whether the person uses a tab now. @param {number} tabId @param {boolean} isOurs as of `setAside` @returns {Promise<boolean>} */
  async isTyping(tabId, isOurs) {
    // Only the tab in front can have the keyboard.
    const { active } = await chrome.tabs.get(tabId);
    if (!active) return false;
    const ask = (/** @type {object} */ frames) => {
      const script = { target: { tabId, ...frames }, injectImmediately: true, func: isPersonTyping, args: [chrome.runtime.id, isOurs] };
      return within(PAGE_PROBE_MS, chrome.scripting.executeScript(/** @type {any} */ (script)));
    };
    // A frame that hangs holds up the answer of all.
    const answers = await ask({ allFrames: true }).catch(() => ask({})).catch(() => []);
    return answers.some(({ result }) => result === true);
  }

  /** @param {string[]} ids whose frames were set aside */
  async #name(ids) {
    const names = [...new Set([...this.#state.names, ...ids.map(extensionName)])].slice(0, ASIDE_NAMES_MAX).sort();
    if (names.length > this.#state.names.length) await this.#keep({ ...this.#state, names });
  }

  /** @param {AsideState} state */
  async #keep(state) {
    this.#state = state;
    await chrome.storage.local.set({ [KEY]: state });
  }
}

export const asideFrames = new FramesAside();
