// @ts-check
// The overlay: a modal dialog in a closed shadow root, above everything, with the page inert behind it.
// All of a person's input is taken at the window before it gets to the page, and led to where it belongs.

/**
 * @typedef {{correlation_id?: string, session?: string, styles?: boolean}} DrawRequest
 * @typedef {'drawing' | 'sending' | 'ending' | 'closed'} DrawPhase
 */

/** Whatever a person can do to a page, and what comes of it. */
const DRAW_EVENTS = [
  'pointerdown', 'pointermove', 'pointerup', 'pointercancel', 'pointerover', 'pointerout', 'mousedown', 'mouseup', 'mousemove',
  'mouseover', 'mouseout', 'click', 'dblclick', 'auxclick', 'contextmenu', 'wheel', 'touchstart', 'touchmove', 'touchend',
  'keydown', 'keypress', 'keyup', 'focusin', 'focusout', 'beforeinput', 'input', 'copy', 'cut', 'paste', 'dragstart', 'drop',
];
/** Long enough to be read. */
const DRAW_END_MS = 900;
const DRAW_HELP = 'Drag to draw, or use the arrow keys (Shift: further) and Space to begin and end a mark. 1 to 4 change the tool.';

class DrawOverlay {
  #waits = new DrawWaits();
  /** @type {DrawPhase} */
  #phase = 'drawing';
  #board = new DrawBoard();
  #view = new DrawView(() => this.#area);
  #bar = new DrawToolbar();
  #host = document.createElement('tabwire-draw');
  #shadow = this.#host.attachShadow({ mode: 'closed' });
  #dialog = document.createElement('dialog');
  #surface = drawElement('div', 'surface');
  #field = /** @type {HTMLTextAreaElement} */ (drawElement('textarea', 'field'));
  /** @type {DrawPoint | null} */
  #cross = null;
  /** @type {Element | null} the button that the pointer went down on */
  #pressed = null;
  #ending = new AbortController();
  #sender;

  /** @param {DrawWorker} worker */
  constructor(worker) {
    this.#sender = new DrawSender(worker, (progress) => this.#showProgress(progress));
  }

  get isOpen() {
    return this.#phase === 'drawing' || this.#phase === 'sending';
  }

  open() {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(DRAW_STYLE);
    this.#shadow.adoptedStyleSheets = [sheet];
    this.#surface.tabIndex = 0;
    this.#surface.setAttribute('role', 'application');
    this.#surface.ariaLabel = `Drawing area. ${DRAW_HELP}`;
    Object.assign(this.#field, { ariaLabel: 'Text of the note', placeholder: 'Type a note. Enter keeps it.', maxLength: DRAW_TEXT_MAX });
    this.#dialog.append(this.#surface, ...this.#view.parts, this.#bar.root);
    this.#shadow.append(this.#dialog);
    const { signal } = this.#ending;
    for (const name of DRAW_EVENTS) addEventListener(name, this.#take, { capture: true, passive: false, signal });
    // A page that is kept for going back to must not come back with an overlay that nobody waits for.
    addEventListener('pagehide', ({ isTrusted }) => isTrusted && this.#close(), { signal });
    this.#choose('rectangle');
    this.#show();
    this.#bar.say(DRAW_HELP);
  }

  /** Somebody asks for a drawing of this page. @param {DrawRequest} ask */
  add(ask) {
    this.#waits.add(ask);
    this.#explain();
  }

  /** Nobody waits for these any more. @param {string[]} over */
  withdraw(over) {
    // What is on its way arrives: the person is done with it.
    if (this.#phase !== 'drawing') return undefined;
    const fate = this.#waits.end(over, this.#board.marks.length > 0 || this.#board.pending !== null);
    if (fate === 'close') return this.#leave('The agent does not wait for a drawing any more.');
    if (fate === 'keep') this.#bar.say('Done keeps what you have drawn for later, Cancel discards it.');
    return this.#explain();
  }

  #explain() {
    const { why, session } = this.#waits;
    this.#bar.explain(why, session);
    this.#dialog.ariaLabel = why;
  }

  #show() {
    if (!this.#host.isConnected) document.documentElement.append(this.#host);
    // One that was thrown out with its host is open, but not above the page any more.
    this.#dialog.close();
    this.#dialog.showModal();
    this.#surface.focus({ preventScroll: true });
  }

  /** @param {DrawPhase} phase */
  #enter(phase) {
    this.#phase = phase;
    this.#bar.setBusy(phase !== 'drawing');
    this.#dialog.classList.toggle('busy', phase !== 'drawing');
  }

  /** Closes once the last word can be read. @param {string} word */
  #leave(word) {
    this.#enter('ending');
    this.#bar.say(word);
    setTimeout(() => this.#close(), DRAW_END_MS);
  }

  #close() {
    this.#phase = 'closed';
    this.#sender.stop();
    this.#ending.abort();
    this.#host.remove();
  }

  // ── Input ──

  /** What script makes up is not a person's: it stays the page's own. @param {Event} event */
  #take = (event) => {
    if (!event.isTrusted) return;
    event.stopImmediatePropagation();
    // A page may throw out what it does not know.
    if (!this.#host.isConnected) this.#show();
    switch (event.type) {
      case 'pointerdown': return this.#handleDown(/** @type {PointerEvent} */ (event));
      case 'pointermove': return this.#handleMove(/** @type {PointerEvent} */ (event));
      case 'pointerup': return this.#handleUp(/** @type {PointerEvent} */ (event));
      case 'pointercancel': return this.#dropMark();
      case 'click': return this.#handleClick(/** @type {MouseEvent} */ (event));
      case 'keydown': return this.#handleKey(/** @type {KeyboardEvent} */ (event));
      case 'wheel': case 'touchmove': case 'contextmenu': case 'dragstart': case 'drop': return event.preventDefault();
      default: return undefined;
    }
  };

  /** @param {PointerEvent} event */
  #handleDown(event) {
    const inner = this.#shadow.elementFromPoint(event.clientX, event.clientY);
    this.#pressed = inner?.closest('button') ?? null;
    if (inner === this.#field || this.#phase !== 'drawing') return;
    if (this.#isNoting) this.#endNote();
    else if (inner === this.#surface && event.button === 0) this.#press(event);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    this.#cross = null;
    this.#view.showCross(null);
    this.#surface.setPointerCapture(event.pointerId);
    this.#begin(this.#at(event));
  }

  /** @param {PointerEvent} event */
  #handleMove(event) {
    if (!this.#surface.hasPointerCapture(event.pointerId)) return;
    for (const one of event.getCoalescedEvents()) this.#board.extend(this.#at(one));
    this.#board.extend(this.#at(event));
    this.#view.showPending(this.#board.pending);
  }

  /** @param {PointerEvent} event */
  #handleUp(event) {
    if (!this.#surface.hasPointerCapture(event.pointerId)) return;
    this.#surface.releasePointerCapture(event.pointerId);
    this.#board.extend(this.#at(event));
    this.#end();
  }

  /** The closed root hides from the event what was clicked. @param {MouseEvent} event */
  #handleClick({ detail, clientX, clientY }) {
    const inner = detail === 0 ? this.#shadow.activeElement : this.#shadow.elementFromPoint(clientX, clientY);
    const button = /** @type {HTMLButtonElement | null} */ (inner?.closest('button') ?? null);
    if (!button || button.disabled || (detail > 0 && button !== this.#pressed)) return;
    const { tool, command } = button.dataset;
    if (tool) this.#choose(/** @type {DrawTool} */ (tool));
    else this.#run(/** @type {DrawCommand} */ (command));
    // The keyboard stays where it is, so that Undo can be pressed again.
    if (detail > 0 && this.isOpen && !this.#isNoting) this.#surface.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const key = drawKey(event, this.#focus);
    if (key === null) return;
    event.preventDefault();
    if (key === 'cancel') this.#escape();
    else if (this.#phase !== 'drawing' || key === 'ignore') return;
    else if (typeof key === 'string') this.#handleCommandKey(key);
    else if ('tool' in key) this.#choose(key.tool);
    else this.#moveCross(key.move);
  }

  /** @param {'mark' | 'undo' | 'done'} key */
  #handleCommandKey(key) {
    if (key === 'done' && this.#isNoting) this.#endNote();
    else if (key === 'mark') this.#mark();
    else this.#run(key);
  }

  /** @returns {DrawFocus} */
  get #focus() {
    const focused = this.#shadow.activeElement;
    if (focused === this.#field) return 'note';
    return focused?.localName === 'button' ? 'button' : 'surface';
  }

  /** What is seen of the page, without its scroll bars. @returns {DrawSize} */
  get #area() {
    return { width: this.#surface.clientWidth, height: this.#surface.clientHeight };
  }

  /** @param {MouseEvent} event */
  #at({ clientX, clientY }) {
    return drawWithin([clientX, clientY], this.#area);
  }

  // ── Marks ──

  /** @param {DrawPoint} at */
  #begin(at) {
    if (!this.#board.begin(at)) this.#bar.say(`A drawing has ${DRAW_MARKS_MAX} marks at most.`, true);
  }

  #end() {
    if (this.#board.pending?.kind === 'note') return this.#openNote(this.#board.pending.points[0]);
    const mark = this.#board.end();
    this.#refresh();
    this.#bar.say(mark ? drawSaid(mark) : DRAW_HELP);
  }

  #dropMark() {
    this.#board.drop();
    this.#field.remove();
    this.#refresh();
  }

  #refresh() {
    this.#view.showMarks(this.#board.marks);
    this.#view.showPending(this.#board.pending);
  }

  /** @param {DrawTool} tool */
  #choose(tool) {
    if (this.#isNoting) this.#endNote();
    this.#dropMark();
    this.#board.tool = tool;
    this.#bar.choose(tool);
    this.#bar.say(`${DRAW_LABELS[tool]} chosen.`);
  }

  /** @param {DrawPoint} by */
  #moveCross([x, y]) {
    const { width, height } = this.#area;
    const [fromX, fromY] = this.#cross ?? [width / 2, height / 2];
    this.#cross = drawWithin([fromX + x, fromY + y], { width, height });
    this.#board.extend(this.#cross);
    this.#view.showCross(this.#cross);
    this.#view.showPending(this.#board.pending);
    this.#bar.say(`Crosshair at ${this.#cross.join(', ')}.`);
  }

  /** By keyboard: begins a mark at the crosshair, or ends it there. */
  #mark() {
    if (!this.#cross) this.#moveCross([0, 0]);
    const at = /** @type {DrawPoint} */ (this.#cross);
    if (this.#board.pending) return this.#end();
    this.#begin(at);
    if (this.#board.pending && this.#board.tool === 'note') return this.#end();
    this.#bar.say(`${DRAW_LABELS[this.#board.tool]} begun at ${at.join(', ')}. Move with the arrow keys, Space ends it.`);
  }

  get #isNoting() {
    return this.#field.isConnected;
  }

  /** @param {DrawPoint} at */
  #openNote(at) {
    this.#field.value = '';
    for (const side of ['left', 'right', 'top', 'bottom']) this.#field.style.removeProperty(side);
    drawPlace(this.#field, at, this.#area);
    this.#dialog.append(this.#field);
    this.#field.focus({ preventScroll: true });
    this.#bar.say('Type the note. Enter keeps it, Shift and Enter begins a line, Escape drops it.');
  }

  #endNote() {
    const mark = this.#board.end(this.#field.value);
    this.#field.remove();
    this.#surface.focus({ preventScroll: true });
    this.#refresh();
    this.#bar.say(mark ? drawSaid(mark) : 'No note was written.');
  }

  // ── Commands ──

  /** @param {DrawCommand} command */
  #run(command) {
    switch (command) {
      case 'undo': return this.#undo();
      case 'bar': return this.#bar.moveAway();
      case 'cancel': return this.#cancel();
      case 'done': return void this.#send();
      default: return undefined;
    }
  }

  #undo() {
    const mark = this.#board.undo();
    this.#refresh();
    this.#bar.say(mark ? `${DRAW_NAMES[mark.kind]} ${mark.id} undone.` : 'There is nothing to undo.');
  }

  /** Ends the innermost: the note, the mark, else all of it. */
  #escape() {
    if (this.#phase !== 'drawing' || !this.#board.pending) return this.#cancel();
    this.#dropMark();
    this.#surface.focus({ preventScroll: true });
    this.#bar.say('Dropped. Escape again cancels the drawing.');
  }

  #cancel() {
    if (!this.isOpen) return;
    const { asks } = this.#waits;
    this.#close();
    // Its own, without the sender: that one is stopped.
    new DrawSender(drawWorker, () => {}).ask({ draw: 'cancel', asks, ...drawPage() }).catch(console.debug);
  }

  // ── Sending ──

  async #send() {
    if (this.#board.pending) this.#end();
    if (this.#isNoting) return;
    if (this.#board.marks.length === 0) return this.#bar.say('Nothing is drawn yet. Draw something, or press Escape to cancel.', true);
    this.#enter('sending');
    const drawing = await this.#assemble();
    const end = 'drawing_id' in drawing ? await this.#sender.send(drawing, this.#waits.asks) : drawing;
    if (this.#phase !== 'sending') return undefined;
    if (end.state === 'refused') return this.#refused(/** @type {any} */ (end));
    return this.#leave('Sent.');
  }

  /** @param {{code: string, message: string}} error */
  #refused(error) {
    this.#enter('drawing');
    this.#bar.say(drawTrouble(error), true);
  }

  /** Everything that is sent, taken once: a drawing that is sent again is the same. @returns {Promise<any>} */
  async #assemble() {
    const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const picture = await this.#withoutBar(() => this.#sender.ask({ draw: 'picture' }));
    const found = picture.error ? picture : await this.#behind(() => this.#askElements());
    if (found.error) return { state: 'refused', ...found.error };
    const annotations = this.#board.marks.map((mark) => drawAnnotation(mark, found.elements[mark.id]));
    const { screenshot_data_url } = picture;
    return { drawing_id: id, screenshot_data_url, annotations, element_details: found.element_details, ...drawPage() };
  }

  #askElements() {
    const styles = this.#waits.asks.some((ask) => ask.styles);
    return this.#sender.ask({ draw: 'elements', marks: this.#board.marks.map(drawTarget), styles });
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async #withoutBar(work) {
    this.#dialog.classList.add('picture');
    try {
      return await work();
    } finally {
      this.#dialog.classList.remove('picture');
    }
  }

  /** With the page in front: what is behind a modal dialog is not to be found. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async #behind(work) {
    this.#dialog.close();
    try {
      return await work();
    } finally {
      if (this.#phase !== 'closed') this.#show();
    }
  }

  /** @param {DrawProgress} progress */
  #showProgress(progress) {
    const words = { sending: 'Sending…', waiting: 'Waiting for Tabwire… The drawing is kept here. Escape cancels.',
      full: 'Tabwire cannot store the drawing just now (is the disk full?). Trying again…' };
    if (this.#phase === 'sending') this.#bar.say(words[progress]);
  }
}

function drawPage() {
  return { page_url: location.href, page_title: document.title };
}
