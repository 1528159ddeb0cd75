// @ts-check
// Whether an element can be acted on as a person would: seen, enabled, at rest, in view, and with a point that is its
// own. A classic script.

/**
 * @typedef {'click' | 'hover' | 'edit' | 'choose' | 'view' | 'file'} ReadinessKind click: a pointer on something enabled;
 *   hover: a pointer; edit: text is entered; choose: its state is changed; view: it is looked at;
 *   file: files are given to it, hidden or not
 *
 * @typedef {object} ReadinessOptions
 * @property {ReadinessKind} kind
 * @property {number[]} [before] its box at an earlier look: one that was moving is at rest if it is there still
 * @property {boolean} [atOnce] it may move, and is taken where it is
 * @property {boolean} [isPointedAt] the pointer must be over it, as the page has been told by now
 * @property {number} [part] of it that is aimed at: 0 its middle, else in turn below and above that
 *
 * @typedef {object} ReadinessVerdict
 * @property {'ready' | 'stale_ref' | 'not_visible' | 'disabled' | 'not_editable' | 'not_stable' | 'covered'} verdict
 * @property {number} id of the element that is acted on: of a hidden field that is its label
 * @property {string} [why] in words
 * @property {number[]} [box] x, y, width and height in CSS px of its frame's viewport
 * @property {{x: number, y: number}} [point] where a pointer meets it
 * @property {string} [role]
 * @property {string} [name]
 * @property {string} [tag] of the field that it stands for, too
 * @property {string} [type] of an input
 * @property {string} [checked] true, false or mixed, of a check box and the like
 * @property {boolean} [runsAddress] a press of it, or Enter in it, runs the code in an address
 * @property {boolean} [isOverFrame] a press of it goes to the document of a frame
 */

/** @typedef {{refused: 'covered' | 'disabled' | 'file', why?: string, isUntouched?: boolean, isUnpressed?: boolean}} ClickRefusal `isUntouched`: no event was sent; `isUnpressed`: none of a press */

class ReadinessCheck {
  static #NEEDS = /** @type {Record<ReadinessKind, {enabled?: boolean, editable?: boolean, pointer?: boolean, rest?: boolean, hidden?: boolean}>} */ ({
    click: { enabled: true, pointer: true, rest: true }, hover: { pointer: true, rest: true }, edit: { enabled: true, editable: true }, choose: { enabled: true }, view: { rest: true }, file: { enabled: true, hidden: true },
  });
  static #TEXT_INPUTS = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'date', 'time', 'datetime-local', 'month', 'week', 'color', 'range']);
  static #ACTED_ON = 'a[href], button, label, summary, [role=button], [role=link], [role=checkbox], [role=radio], [role=menuitem], [role=option], [role=tab], [role=switch], [role=treeitem]';
  #dom;
  #accessible;
  #tree;
  #finder;
  #refs;
  #watch;
  #codes;

  /** @param {PageDom} dom @param {Accessible} accessible @param {AccessibleTree} tree @param {TargetFinder} finder @param {RefTable} refs @param {MutationWatch} watch @param {CodeAddresses} codes */
  constructor(dom, accessible, tree, finder, refs, watch, codes) {
    this.#codes = codes;
    this.#tree = tree;
    this.#dom = dom;
    this.#accessible = accessible;
    this.#finder = finder;
    this.#refs = refs;
    this.#watch = watch;
  }

  /** @param {number} id @param {ReadinessOptions} options @returns {ReadinessVerdict} */
  check(id, { kind, before, atOnce = false, isPointedAt = false, part = 0 }) {
    const known = this.#refs.find(id)?.element;
    if (!known || !this.#dom.isThere(known)) return { verdict: 'stale_ref', id };
    const needs = ReadinessCheck.#NEEDS[kind];
    const element = this.#standIn(known, kind);
    const { id: own, role, name } = this.#finder.describe(element);
    const field = this.#tree.stated(element);
    const checked = this.#accessible.checked(field, role);
    const tag = this.#dom.tag(field);
    const about = {
      id: own, role, name, tag, ...(tag === 'input' && { type: String(field.type) }), ...(checked !== null && { checked }), ...this.#code(element),
    };
    const unseen = kind === 'choose' && this.#isTickedByLabel(element) ? '' : this.#unseen(element);
    if (unseen && !needs.hidden) return { ...about, verdict: 'not_visible', why: unseen };
    if (needs.enabled && this.#isDisabled(element)) return { ...about, verdict: 'disabled' };
    const uneditable = needs.editable ? this.#uneditable(element) : '';
    if (uneditable) return { ...about, verdict: 'not_editable', why: uneditable };
    const moved = this.#box(element);
    if (needs.rest && !atOnce && !this.#isAtRest(element, moved, before)) return { ...about, verdict: 'not_stable', box: moved };
    const point = this.#reach(element, needs.pointer === true, part);
    const box = this.#box(element);
    if (point && isPointedAt && !this.#isUnderPointer(element)) return { ...about, verdict: 'covered', box, why: 'the pointer is over another element' };
    if (point) return { ...about, ...this.#under(point), verdict: 'ready', box, point };
    if (!needs.pointer) return { ...about, verdict: 'ready', box };
    return { ...about, verdict: 'covered', box, why: this.#cover(element) };
  }

  /** The one field for files that an element names or holds. @param {any} element @returns {any} undefined: none, or several */
  #fileField(element) {
    const named = this.#dom.labelled(element);
    const inside = [element, ...(named ? [named] : []), ...this.#dom.inside(this.#dom.shadowRoot(element) ?? element, 'input')];
    const fields = inside.filter((one) => FileFields.isField(one));
    return new Set(fields).size === 1 ? fields[0] : undefined;
  }

  /** The element that a person would act on in its place. @param {any} element @param {ReadinessKind} kind @returns {any} */
  #standIn(element, kind) {
    if (kind === 'file') return this.#fileField(element) ?? element;
    const field = this.#dom.labelled(element);
    if (field && (kind === 'edit' || kind === 'choose')) return field;
    const isPointed = kind === 'click' || kind === 'hover';
    if (!isPointed || !Accessible.FIELDS.has(this.#dom.tag(element)) || !this.#unseen(element)) return element;
    return this.#dom.labelsOf(element).find((label) => !this.#unseen(label)) ?? element;
  }

  /** Pages hide boxes and draw their own in the labels. @param {any} element */
  #isTickedByLabel(element) {
    return this.#dom.tag(element) === 'input' && ['checkbox', 'radio'].includes(element.type) && this.#dom.labelsOf(element).some((label) => !this.#unseen(label));
  }

  /** @param {any} element @returns {string} why nobody sees it; empty: it is seen */
  #unseen(element) {
    if (this.#dom.tag(element) === 'option') return 'an option of a list is chosen with select_option on its list';
    if (!this.#dom.isVisible(element)) return getComputedStyle(element).visibility === 'visible' ? 'it is not rendered (display: none, on it or around it)' : 'visibility: hidden, on it or around it';
    const isSized = this.#dom.rects(element).some(({ width, height }) => width > 0 && height > 0);
    if (isSized || this.#dom.children(element).some((child) => this.#dom.isElement(child) && this.#unseen(child) === '')) return '';
    return 'it has no size';
  }

  /** @param {any} element */
  #isDisabled(element) {
    if (this.#dom.matches(element, ':disabled')) return true;
    for (let around = element; around; around = this.#dom.shownParent(around)) if (this.#dom.attribute(around, 'aria-disabled') === 'true') return true;
    return false;
  }

  /** @param {any} element @returns {string} why no text can be entered; empty: it can */
  #uneditable(element) {
    if (this.#accessible.isReadOnly(element)) return 'it is read-only';
    const tag = this.#dom.tag(element);
    const takesText = tag === 'textarea' || (tag === 'input' && ReadinessCheck.#TEXT_INPUTS.has(element.type)) || this.#dom.isEdited(element);
    if (takesText || ['textbox', 'searchbox', 'combobox', 'spinbutton'].includes(this.#dom.attribute(element, 'role') ?? '')) return '';
    return `no text is entered into ${tag === 'input' ? `an input of type ${element.type}` : `<${tag}>`}`;
  }

  /** @param {any} element @returns {number[]} */
  #box(element) {
    const rects = this.#dom.rects(element).filter(({ width, height }) => width > 0 && height > 0);
    // An element without a box of its own is where its content is.
    const inner = rects.length > 0 ? element : this.#dom.children(element).find((child) => this.#dom.isElement(child) && this.#unseen(child) === '') ?? element;
    const { x, y, width, height } = this.#dom.rect(inner);
    return [x, y, width, height];
  }

  /** @param {any} element @param {number[]} box @param {number[] | undefined} before */
  #isAtRest(element, box, before) {
    if (before) return box.every((side, at) => Math.abs(side - before[at]) < 0.5);
    this.#watch.cover(element);
    if (this.#watch.isRestless()) return false;
    for (let around = element; around; around = this.#dom.shownParent(around)) if (this.#dom.isAnimated(around)) return false;
    return true;
  }

  /** A point of its own, scrolled to if need be. @param {any} element @param {boolean} isPointed @param {number} part @returns {{x: number, y: number} | undefined} */
  #reach(element, isPointed, part) {
    const here = this.#ownPoint(element, part);
    if (here) return here;
    const isSeen = () => {
      const [x, y, width, height] = this.#box(element);
      return x < innerWidth && y < innerHeight && x + width > 0 && y + height > 0;
    };
    if (!isPointed) {
      // In the view of the page it may still be cut off by a box that scrolls.
      this.#dom.scrollTo(element, isSeen() ? 'nearest' : 'center');
      return this.#ownPoint(element);
    }
    // A header that stays may cover it at one end of the view and not at the other.
    for (const where of /** @type {ScrollLogicalPosition[]} */ (['center', 'end', 'start'])) {
      this.#dom.scrollTo(element, where);
      const point = this.#ownPoint(element);
      if (point) return point;
    }
    return undefined;
  }

  /** @param {any} element @param {number} [part] */
  #ownPoint(element, part) {
    return this.#points(element, part).find(({ x, y }) => this.receives(element, this.#dom.at(x, y)));
  }

  /** Points within the view: the middle first, then of its lines, then all over it. @param {any} element @param {number} [part] @returns {{x: number, y: number}[]} */
  #points(element, part = 0) {
    const middle = (/** @type {{x: number, y: number, width: number, height: number}} */ { x, y, width, height }) => {
      const [left, top] = [Math.max(x, 0), Math.max(y, 0)];
      return { x: (left + Math.min(x + width, innerWidth)) / 2, y: (top + Math.min(y + height, innerHeight)) / 2, isIn: Math.min(x + width, innerWidth) > left && Math.min(y + height, innerHeight) > top };
    };
    const [x, y, width, height] = this.#box(element);
    const inRow = (/** @type {number} */ row) => [5, 1, 3, 7, 9].map((column) => ({ x: x + (width * column) / 10, y: y + (height * row) / 10, isIn: true }));
    const first = part === 0 ? [] : inRow(part % 2 === 1 ? 8 : 2);
    const all = [...first, middle({ x, y, width, height }), ...this.#dom.rects(element).slice(0, 10).map(middle), ...[1, 3, 5, 7, 9].flatMap(inRow)];
    return all.filter((point) => point.isIn && point.x >= 0 && point.y >= 0 && point.x < innerWidth && point.y < innerHeight).map((point) => ({ x: point.x, y: point.y }));
  }

  /**
   * Why a press at a point would not do for an element what is meant, at this moment; null: it would.
   * @param {any} element @param {{x: number, y: number}} [point] in the view of its document
   * @returns {ClickRefusal | null}
   */
  refusal(element, point) {
    if (this.#isDisabled(element)) return { refused: 'disabled' };
    const hit = point ? this.#dom.at(point.x, point.y) : null;
    if (!this.receives(element, hit)) return { refused: 'covered', why: this.#cover(element) };
    // Nobody but the debugger keeps the chooser of files from the person.
    for (let around = hit; around; around = this.#dom.shownParent(around)) {
      if (FileFields.isField(around) || FileFields.isField(this.#dom.labelled(around))) return { refused: 'file' };
    }
    return null;
  }

  /** Whether a click that hits one element is one on the other. @param {any} element @param {any} hit */
  receives(element, hit) {
    if (!hit) return false;
    if (this.#dom.holds(element, hit)) return true;
    // A part of a button is clicked by a click on the button.
    const button = this.#dom.closest(element, ReadinessCheck.#ACTED_ON);
    if (button && this.#dom.holds(button, hit)) return true;
    const label = this.#dom.closest(hit, 'label');
    return label !== null && this.#dom.labelled(label) === element;
  }

  /** @param {any} element */
  #isUnderPointer(element) {
    const button = this.#dom.closest(element, ReadinessCheck.#ACTED_ON);
    return [element, ...(button ? [button] : []), ...this.#dom.labelsOf(element)].some((one) => this.#dom.matches(one, ':hover'));
  }

  /** The element that is hit in its place, in words. @param {any} element @returns {string} */
  #cover(element) {
    if (getComputedStyle(element).pointerEvents === 'none') return 'it takes no pointer events (pointer-events: none)';
    const [point] = this.#points(element);
    if (!point) return 'it is out of the view, and scrolling does not bring it in';
    const hit = this.#dom.at(point.x, point.y);
    if (!hit) return 'nothing is hit where it is';
    const { role, name } = this.#finder.describe(hit);
    return `${role}${name ? ` ${JSON.stringify(name)}` : ''} covers it`;
  }

  /** The element at a point of the view. @param {number} x @param {number} y @returns {any} */
  at(x, y) {
    const hit = this.#dom.at(x, y);
    if (!hit) return null;
    const { id, role, name } = this.#finder.describe(hit);
    return { id, role, name, ...this.#code(hit), ...(this.#isFrame(hit) && { frame: this.#dom.placeOf(hit), ...this.#insideFrame(hit, x, y) }) };
  }

  /** The element that has the focus, or the body of the page. */
  focused() {
    const element = this.#dom.active() ?? this.#dom.body ?? this.#dom.page;
    const { id, role, name } = this.#finder.describe(element);
    return { id, role, name, ...this.#code(element), ...(this.#isFrame(element) && { frame: this.#dom.placeOf(element) }) };
  }

  /** What a press at a point of the view meets in the place of the element that it is meant for. @param {{x: number, y: number}} point */
  #under({ x, y }) {
    const hit = this.#dom.at(x, y);
    return { ...this.#code(hit), ...(hit && this.#isFrame(hit) && { isOverFrame: true }) };
  }

  /** @param {any} element null: nothing is there @returns {{runsAddress?: true}} */
  #code(element) {
    return this.#codes.runs(element) ? { runsAddress: true } : {};
  }

  /** @param {any} element @returns {boolean} whether it shows another document */
  #isFrame(element) {
    return ['iframe', 'frame', 'object', 'embed'].includes(this.#dom.tag(element)) && Boolean(element.contentWindow);
  }

  /** A point of the view in the view of a frame in it. @param {any} frame @param {number} x @param {number} y */
  #insideFrame(frame, x, y) {
    const { left, top, scaleX, scaleY } = this.#frameView(frame);
    return { inner: { x: (x - left) / scaleX, y: (y - top) / scaleY } };
  }

  /** Where the view of the frame at a place begins, and how large its pixels are; null: it is gone. @param {number} place */
  frameAt(place) {
    const frame = this.#dom.frames().find((one) => this.#dom.placeOf(one) === place);
    return frame ? this.#frameView(frame) : null;
  }

  /** Where the view of a frame begins, and how large its pixels are. @param {any} frame */
  #frameView(frame) {
    const { x, y, width, height } = this.#dom.rect(frame);
    const { paddingLeft, paddingTop } = getComputedStyle(frame);
    const scaleX = frame.offsetWidth > 0 ? width / frame.offsetWidth : 1;
    const scaleY = frame.offsetHeight > 0 ? height / frame.offsetHeight : 1;
    return { left: x + (frame.clientLeft + parseFloat(paddingLeft)) * scaleX, top: y + (frame.clientTop + parseFloat(paddingTop)) * scaleY, scaleX, scaleY };
  }

  /**
   * A point in a frame's view as one of this document's view, scrolled to if need be.
   * @param {{place: number, x: number, y: number, isPointed: boolean}} inner @returns {{x: number, y: number, why?: string} | null} null: the frame is gone
   */
  fromFrame({ place, x, y, isPointed }) {
    const frame = this.#dom.frames().find((one) => this.#dom.placeOf(one) === place);
    if (!frame) return null;
    const point = () => {
      const { left, top, scaleX, scaleY } = this.#frameView(frame);
      return { x: left + x * scaleX, y: top + y * scaleY };
    };
    const isIn = (/** @type {{x: number, y: number}} */ at) => at.x >= 0 && at.y >= 0 && at.x < innerWidth && at.y < innerHeight && this.#dom.at(at.x, at.y) === frame;
    let at = point();
    if (!isIn(at)) {
      this.#dom.scrollTo(frame, 'nearest');
      at = point();
      if (at.x < 0 || at.y < 0 || at.x >= innerWidth || at.y >= innerHeight) scrollBy({ left: at.x - innerWidth / 2, top: at.y - innerHeight / 2, behavior: 'instant' });
      at = point();
    }
    return isIn(at) || !isPointed ? at : { ...at, why: this.#cover(frame) };
  }
}
