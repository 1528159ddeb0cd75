// @ts-check
// Watches a document: whether it keeps changing, and which elements get the events of an act. A classic script.

class MutationWatch {
  /** A watch that nobody needs costs the page time. */
  static #IDLE_MS = 60_000;
  /** A movement by script changes the page at least this often. */
  static #STEP_MS = 100;
  /** A page that changes as it handles an event of an act is not moving something. */
  static #HANDLING_MS = 4;
  #dom;
  /** @type {MutationObserver | null} */
  #observer = null;
  #since = 0;
  #usedAt = 0;
  /** The last two times at which the page changed, at least a part of a frame apart. */
  #changes = [-Infinity, -Infinity];
  #eventAt = -Infinity;
  /** How often it has changed. */
  count = 0;
  /** @type {Set<(hasChanged: boolean) => void>} */
  #waiting = new Set();

  /** @param {PageDom} dom */
  constructor(dom) {
    this.#dom = dom;
  }

  /** Called at each use of the world. */
  use() {
    this.#usedAt = performance.now();
    if (this.#observer) return;
    this.#observer = new MutationObserver(() => this.#handleChange());
    this.#since = this.#usedAt;
    this.#observe(document);
  }

  /** Watches the shadow trees around an element, too. @param {any} element */
  cover(element) {
    for (let root = this.#dom.root(element); root instanceof ShadowRoot; root = this.#dom.root(this.#dom.hostOf(root))) this.#observe(root);
  }

  /** @param {any} root */
  #observe(root) {
    this.#observer?.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  }

  #handleChange() {
    const now = performance.now();
    this.count += 1;
    const isHandling = now - this.#eventAt < MutationWatch.#HANDLING_MS;
    if (!isHandling && now - this.#changes[1] >= 8) this.#changes = [this.#changes[1], now];
    for (const resolve of this.#waiting) resolve(true);
    this.#waiting.clear();
    if (now - this.#usedAt < MutationWatch.#IDLE_MS) return;
    this.#observer?.disconnect();
    this.#observer = null;
  }

  /** Watches all shadow trees, too. */
  coverAll() {
    for (const root of this.#dom.roots().slice(1)) this.#observe(root);
  }

  /** Called as an event of an act comes to the page. */
  expectChange() {
    this.#eventAt = performance.now();
  }

  /** Whether something may be moved by script now: the page changes again and again, or has not been watched long enough. */
  isRestless() {
    const now = performance.now();
    return now - this.#since < 50 || now - this.#changes[0] < MutationWatch.#STEP_MS;
  }

  /**
   * Resolves when the page has changed since it was looked at, or after some time, or when nobody waits any more.
   * @param {number} ms @param {number} [since] the count of changes at that look @returns {Promise<boolean>} whether it has changed
   */
  nextChange(ms, since = this.count) {
    // Shadow roots that have come meanwhile are watched from now on.
    this.coverAll();
    if (since !== this.count) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      setTimeout(() => {
        this.#waiting.delete(resolve);
        resolve(false);
      }, ms);
    });
  }

  /** Nobody waits any more: the page is watched again from its next use on. */
  rest() {
    for (const resolve of this.#waiting) resolve(false);
    this.#waiting.clear();
    this.#observer?.disconnect();
    this.#observer = null;
  }
}

/**
 * @typedef {object} LandedEvent an event since the watch was armed; of the pointer the first of its type, else the last
 * @property {boolean} isOwn the element that was meant has got it, or something in it
 * @property {boolean} isTrusted
 * @property {{id: number, role: string, name: string} | null} on which element has got it, if it is another one
 */

class EventWatch {
  /** A page answers events of the pointer with events of its own, which say nothing of the act. */
  static #POINTED = new Set(['pointerdown', 'mousedown', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'dragstart', 'drop']);
  static #TYPES = ['pointerdown', 'mousedown', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu', 'mouseover', 'mousemove', 'keydown', 'keyup', 'beforeinput', 'input', 'change', 'wheel', 'dragstart', 'drop', 'submit'];
  #dom;
  #finder;
  #refs;
  #accessible;
  #tree;
  #readiness;
  /** @type {Map<string, {target: any, isTrusted: boolean, event: Event, download: boolean}>} */
  #seen = new Map();
  #changes;
  #isArmed = false;
  /** How many keys have gone up, and have been handled by all who listen. */
  #keysUp = 0;
  /** Where the pointer was at its last move that all who listen have handled, in CSS px of the frame's view. @type {{x: number, y: number} | null} */
  #pointer = null;
  /** The listener that waits for each type. @type {Map<string, () => void>} */
  #last = new Map();
  /** @type {{hasCome: () => boolean, resolve: (hasCome: boolean) => void} | null} */
  #awaited = null;
  /** The last try to go to another page since it was armed. @type {any} */
  #leaving = null;
  #handleNavigate = (/** @type {any} */ event) => { if (event.isTrusted && !event.destination.sameDocument) this.#leaving = event; };
  /** The element that had the focus when it was armed, and the states of the one that was meant. @type {{focus: any, states: string}} */
  #before = { focus: null, states: '' };
  #handle = (/** @type {Event} */ event) => this.#record(event);

  /** @param {PageDom} dom @param {TargetFinder} finder @param {RefTable} refs @param {Accessible} accessible @param {AccessibleTree} tree @param {ReadinessCheck} readiness @param {MutationWatch} changes */
  constructor(dom, finder, refs, accessible, tree, readiness, changes) {
    this.#tree = tree;
    this.#readiness = readiness;
    this.#changes = changes;
    this.#dom = dom;
    this.#finder = finder;
    this.#refs = refs;
    this.#accessible = accessible;
  }

  /** @param {number} keys @returns {Promise<boolean>} whether so many keys have gone up since the watch was armed */
  keysUp(keys) {
    return this.#until(() => this.#keysUp >= keys);
  }

  /** @param {{x: number, y: number}} point in CSS px of the frame's view @returns {Promise<boolean>} whether the pointer has come there since the watch was armed */
  pointerAt({ x, y }) {
    // Events of the mouse have whole numbers.
    return this.#until(() => this.#pointer !== null && Math.abs(this.#pointer.x - x) <= 1 && Math.abs(this.#pointer.y - y) <= 1);
  }

  /**
   * Resolves when an event has come and been handled, or when nobody waits any more. The browser holds back all tasks of
   * a page after input until the page has painted: nothing may wait for one.
   * @param {() => boolean} hasCome @returns {Promise<boolean>}
   */
  #until(hasCome) {
    this.#endWait();
    return new Promise((resolve) => {
      this.#awaited = { hasCome, resolve };
      this.#lookArrived();
    });
  }

  #lookArrived() {
    if (!this.#awaited?.hasCome()) return;
    this.#awaited.resolve(true);
    this.#awaited = null;
  }

  /** The last listener for an event comes after those of the page. @param {string} type @param {() => void} note */
  #awaitOthers(type, note) {
    const listener = () => {
      note();
      this.#lookArrived();
    };
    this.#forgetOthers(type);
    this.#last.set(type, listener);
    addEventListener(type, listener, { once: true, passive: true });
  }

  /** The page may have kept the event from the listener. @param {string} type */
  #forgetOthers(type) {
    const listener = this.#last.get(type);
    if (listener) removeEventListener(type, listener);
    this.#last.delete(type);
  }

  #endWait() {
    this.#awaited?.resolve(false);
    this.#awaited = null;
  }

  /** @param {number} [id] of the element that is meant */
  arm(id) {
    this.#endWait();
    this.#seen.clear();
    this.#keysUp = 0;
    this.#pointer = null;
    this.#leaving = null;
    this.#before = { focus: this.#dom.active(), states: this.#states(id).join(' ') };
    if (this.#isArmed) return;
    this.#isArmed = true;
    for (const type of EventWatch.#TYPES) addEventListener(type, this.#handle, { capture: true, passive: true });
    /** @type {any} */ (globalThis).navigation?.addEventListener('navigate', this.#handleNavigate);
  }

  disarm() {
    this.#endWait();
    if (!this.#isArmed) return;
    this.#isArmed = false;
    for (const type of EventWatch.#TYPES) removeEventListener(type, this.#handle, { capture: true });
    for (const type of this.#last.keys()) this.#forgetOthers(type);
    /** @type {any} */ (globalThis).navigation?.removeEventListener('navigate', this.#handleNavigate);
  }

  /** @param {Event} event */
  #record(event) {
    if (event.isTrusted) {
      this.#changes.expectChange();
      if (event.type === 'keyup') this.#awaitOthers('keyup', () => { this.#keysUp += 1; });
    }
    if (event.type === 'mousemove') {
      const { clientX: x, clientY: y } = /** @type {MouseEvent} */ (event);
      if (event.isTrusted) this.#awaitOthers('mousemove', () => { this.#pointer = { x, y }; });
      return;
    }
    const known = this.#seen.get(event.type);
    if (EventWatch.#POINTED.has(event.type) ? known?.isTrusted : known?.isTrusted && !event.isTrusted) return;
    const path = event.composedPath();
    const [target] = path;
    const download = event.type === 'click' && path.some((one) => one instanceof HTMLAnchorElement && this.#dom.has(one, 'download'));
    // Closed shadow trees are left out of the path.
    const isPointed = event instanceof MouseEvent && target instanceof Element;
    const hit = isPointed && this.#dom.shadowRoot(target) ? this.#dom.at(event.clientX, event.clientY) : null;
    this.#seen.set(event.type, { target: hit && this.#dom.holds(target, hit) ? hit : target, isTrusted: event.isTrusted, event, download });
  }

  /** @param {string} type @returns {boolean} whether such an event has come, and the page has not prevented it */
  hasCome(type) {
    const seen = this.#seen.get(type);
    return seen?.isTrusted === true && !seen.event.defaultPrevented;
  }

  /** Where the page has begun to go since it was armed. @returns {string | undefined} */
  get leaving() {
    return this.isLeaving ? String(this.#leaving.destination.url) : undefined;
  }

  /**
   * All that shows whether an act has had an effect on the document of an element. @param {number} id of the element
   * @returns {Record<string, unknown>}
   */
  traces(id) {
    const meant = this.#refs.find(id)?.element;
    const focused = this.#dom.active();
    return {
      events: ['input', 'change', 'submit'].filter((type) => this.#seen.has(type)), states: this.#states(id), isLeaving: this.isLeaving,
      isThere: meant !== undefined && this.#dom.isThere(meant),
      hasMovedFocus: focused !== this.#before.focus && !(meant && focused && this.#dom.holds(meant, focused)),
    };
  }

  /** Whether the page has begun to go elsewhere since it was armed. */
  get isLeaving() {
    return this.#leaving !== null && !this.#leaving.defaultPrevented;
  }

  /**
   * Whether a link has begun a download since it was armed. A script's link may be in no document, and is told by the
   * navigation alone; a document of no origin, as in a sandbox, is told of no navigation.
   */
  get #isDownloading() {
    const click = this.#seen.get('click');
    const isClicked = click?.download === true && !click.event.defaultPrevented;
    return isClicked || (this.isLeaving && typeof this.#leaving.downloadRequest === 'string');
  }

  /** @param {number | undefined} id */
  #states(id) {
    const element = id === undefined ? undefined : this.#refs.find(id)?.element;
    if (!element || !this.#dom.isThere(element)) return [];
    const field = this.#tree.stated(element);
    return this.#accessible.states(field, this.#accessible.role(field));
  }

  /**
   * The events since the watch was armed, and the state of the element now.
   * @param {number | undefined} id of the element that was meant
   * @returns {{events: Record<string, LandedEvent>, isThere: boolean, focus: {id: number, role: string, name: string} | null, hasMovedFocus: boolean, hasNewStates: boolean, isDownload: boolean, isPutBack: boolean, value?: string, checked?: string, states: string[]}}
   */
  landed(id) {
    const meant = id === undefined ? undefined : this.#refs.find(id)?.element;
    /** @type {Record<string, LandedEvent>} */
    const events = {};
    for (const [type, { target, isTrusted }] of this.#seen) {
      const isOwn = meant !== undefined && target instanceof Element && this.#readiness.receives(meant, target);
      events[type] = { isOwn, isTrusted, on: isOwn || !(target instanceof Element) ? null : this.#about(target) };
    }
    const isPutBack = meant !== undefined && this.#isPutBack(meant);
    this.disarm();
    const focused = this.#dom.active();
    const isThere = meant !== undefined && this.#dom.isThere(meant);
    const field = isThere ? this.#tree.stated(meant) : undefined;
    const role = isThere ? this.#accessible.role(field) : '';
    const states = this.#states(id);
    return {
      events, isThere, isPutBack, focus: focused && this.#about(focused), isDownload: this.#isDownloading,
      hasNewStates: states.join(' ') !== this.#before.states, hasMovedFocus: focused !== this.#before.focus && !(meant && focused && this.#dom.holds(meant, focused)),
      ...(isThere && { value: this.#accessible.value(field, role), checked: this.#accessible.checked(field, role) ?? undefined }),
      states,
    };
  }

  /**
   * Pages that draw take an element out and put it back in front when the pointer comes. Browsers take it for removed
   * then, and give each press to the element around it, though the pointer is over it all the time.
   * @param {any} meant @returns {boolean}
   */
  #isPutBack(meant) {
    const [over, down, up] = ['mouseover', 'mousedown', 'mouseup'].map((type) => this.#seen.get(type));
    const isAround = (/** @type {typeof down} */ seen) => seen?.isTrusted === true && seen.target !== meant && seen.target instanceof Element && this.#dom.holds(seen.target, meant);
    if (!over?.isTrusted || !this.#readiness.receives(meant, over.target) || !isAround(down) || !isAround(up)) return false;
    const { clientX, clientY } = /** @type {MouseEvent} */ (up?.event);
    return this.#dom.isThere(meant) && this.#readiness.receives(meant, this.#dom.at(clientX, clientY));
  }

  /** @param {any} element */
  #about(element) {
    const { id, role, name } = this.#finder.describe(element);
    return { id, role, name };
  }
}
