// @ts-check
// A person draws on a picture of a page, writes notes, and sends it or not. All of it happens in a page of the
// extension's own: no web page gets the input, reads the notes, or learns the outcome.

/** @import {DrawMark, DrawPoint, DrawTool} from './geometry.js' */
/** @import {DrawFocus} from './keys.js' */
/** @import {DrawProgress, DrawWorker} from './sender.js' */
/** @import {DrawStage} from './stage.js' */
/** @import {DrawCommand} from './toolbar.js' */
/** @import {DrawRequest, DrawWaitsRecord} from './waits.js' */

import { newDrawingId } from '../frames.js';
import { DRAW_MARKS_MAX, DRAW_NAMES, DRAW_TEXT_MAX, DrawingModel, drawDescription } from './drawing_model.js';
import { drawAnnotation, drawTarget, drawWithin } from './geometry.js';
import { drawKey } from './keys.js';
import { DrawSender, drawTrouble } from './sender.js';
import { DRAW_LABELS, DrawToolbar } from './toolbar.js';
import { DrawWaits } from './waits.js';

/**
 * @typedef {'drawing' | 'sending' | 'ending'} DrawPhase
 *
 * @typedef {object} DrawWork state that outlives this page
 * @property {DrawMark[]} marks
 * @property {boolean} is_begun whether there is work to lose
 * @property {DrawWaitsRecord} waits
 * @property {DrawSending | null} sending
 *
 * @typedef {{drawing_id: string, elements: Record<number, string>, near: Record<number, string[]>, element_details: Record<string, object>}} DrawSending
 *   fixed while a drawing is sent again and again
 *
 * @typedef {object} DrawOrigins
 * @property {DrawWork | undefined} work of a page before this one
 * @property {(work: DrawWork) => Promise<void>} keep
 * @property {{page_url: string, page_title: string}} page in the picture
 */

/** Time enough to read the last message. */
const DRAW_END_MS = 900;
const READY = 'Draw on the picture, then press Enter to send it.';

export class DrawingEditor {
  #worker;
  #stage;
  #keep;
  #page;
  #waits;
  #model;
  #sender;
  #bar;
  /** @type {DrawPhase} */
  #phase = 'drawing';
  /** @type {DrawSending | null} */
  #sending;
  /** @type {DrawPoint | null} where the keyboard draws */
  #cross = null;

  /** @param {DrawWorker} worker @param {DrawStage} stage @param {DrawOrigins} origins */
  constructor(worker, stage, { work, keep, page: { page_url, page_title } }) {
    this.#worker = worker;
    this.#stage = stage;
    this.#keep = keep;
    this.#page = { page_url, page_title };
    this.#waits = new DrawWaits(work?.waits);
    this.#model = new DrawingModel(work?.marks);
    this.#sending = work?.sending ?? null;
    this.#sender = new DrawSender(worker, (progress) => this.#showProgress(progress));
    this.#bar = new DrawToolbar({ choose: (tool) => this.#choose(tool), run: (command) => this.#run(command) });
  }

  open() {
    const { canvas, note } = this.#stage;
    canvas.addEventListener('pointerdown', (event) => this.#handleDown(event));
    canvas.addEventListener('pointermove', (event) => this.#handleMove(event));
    canvas.addEventListener('pointerup', (event) => this.#handleUp(event));
    canvas.addEventListener('pointercancel', () => this.#dropMark());
    addEventListener('keydown', (event) => this.#handleKey(event));
    // The keyboard stays where it is, so that Undo can be pressed again.
    document.querySelector('footer')?.addEventListener('mousedown', (event) => event.preventDefault());
    note.maxLength = DRAW_TEXT_MAX;
    this.#bar.showPage(this.#page.page_url, this.#page.page_title);
    this.#choose('rectangle');
    this.#stage.focus();
    this.#bar.announce(READY);
    if (this.#sending) this.#send().catch(console.warn);
  }

  /** A drawing of this page is asked for. @param {DrawRequest} ask */
  add(ask) {
    this.#waits.add(ask);
    this.#explain();
    this.#save();
  }

  /** These waits have ended. @param {string[]} over */
  withdraw(over) {
    // A drawing that is being sent arrives all the same: the person is done with it.
    if (this.#phase !== 'drawing' || over.length === 0) return;
    const fate = this.#waits.end(over, this.#model.isBegun);
    if (fate === 'close') return this.#leave('The agent does not wait for a drawing any more.');
    if (fate === 'keep') this.#bar.announce('Send keeps what you have drawn for later, Cancel discards it.');
    this.#explain();
    this.#save();
  }

  #explain() {
    const { why, session, requests } = this.#waits;
    this.#bar.explain(why, session);
    this.#bar.showRequests(requests);
    this.#stage.root.ariaLabel = `${why}. Drawing area`;
  }

  #save() {
    const { marks, isBegun: is_begun } = this.#model;
    this.#keep({ marks, is_begun, waits: this.#waits.record, sending: this.#sending }).catch(console.warn);
  }

  /** @param {DrawPhase} phase */
  #enter(phase) {
    this.#phase = phase;
    this.#bar.setBusy(phase !== 'drawing');
  }

  /** Closes once the last word can be read. @param {string} word */
  #leave(word) {
    this.#enter('ending');
    this.#bar.announce(word);
    setTimeout(() => this.#tellEnd('close'), DRAW_END_MS);
  }

  /** The worker closes the tab; it is asked until one lives that does. @param {'close' | 'cancel'} draw */
  #tellEnd(draw) {
    new DrawSender(this.#worker, () => {}).ask({ draw }).then(() => close(), console.debug);
  }

  // ── Input ──

  /** @param {PointerEvent} event */
  #handleDown(event) {
    if (this.#phase !== 'drawing') return;
    // A click elsewhere keeps the note, and the focus goes where it is set.
    event.preventDefault();
    if (this.#stage.isNoting) return this.#endNote();
    if (event.button !== 0) return;
    this.#cross = null;
    this.#stage.focus();
    this.#stage.canvas.setPointerCapture(event.pointerId);
    this.#begin(this.#stage.at(event));
    this.#refresh();
  }

  /** @param {PointerEvent} event */
  #handleMove(event) {
    if (!this.#stage.canvas.hasPointerCapture(event.pointerId)) return;
    for (const one of event.getCoalescedEvents()) this.#model.extend(this.#stage.at(one));
    this.#model.extend(this.#stage.at(event));
    this.#refresh();
  }

  /** @param {PointerEvent} event */
  #handleUp(event) {
    if (!this.#stage.canvas.hasPointerCapture(event.pointerId)) return;
    this.#stage.canvas.releasePointerCapture(event.pointerId);
    this.#model.extend(this.#stage.at(event));
    this.#end();
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
    if (key === 'done' && this.#stage.isNoting) this.#endNote();
    else if (key === 'mark') this.#mark();
    else this.#run(key === 'done' ? 'send' : key);
  }

  /** @returns {DrawFocus} */
  get #focus() {
    const focused = document.activeElement;
    if (focused === this.#stage.note) return 'note';
    return focused?.localName === 'button' ? 'button' : 'surface';
  }

  // ── Marks ──

  /** @param {DrawPoint} at */
  #begin(at) {
    if (!this.#model.begin(at)) this.#bar.announce(`A drawing has ${DRAW_MARKS_MAX} marks at most.`, true);
    this.#save();
  }

  #end() {
    if (this.#model.pending?.kind === 'note') return this.#openNote(this.#model.pending.points[0]);
    const mark = this.#model.end();
    this.#changed();
    this.#bar.announce(mark ? drawDescription(mark) : READY);
  }

  #dropMark() {
    this.#model.drop();
    this.#stage.closeNote();
    this.#changed();
  }

  #changed() {
    this.#refresh();
    this.#save();
  }

  #refresh() {
    const { marks, pending } = this.#model;
    this.#stage.show({ marks, pending, cross: this.#cross });
  }

  /** @param {DrawTool} tool */
  #choose(tool) {
    if (this.#stage.isNoting) this.#endNote();
    this.#dropMark();
    this.#model.tool = tool;
    this.#bar.choose(tool);
    this.#bar.announce(`${DRAW_LABELS[tool]} chosen.`);
  }

  /** @param {DrawPoint} by */
  #moveCross([x, y]) {
    const { size } = this.#stage;
    const [fromX, fromY] = this.#cross ?? [size.width / 2, size.height / 2];
    this.#cross = drawWithin([fromX + x, fromY + y], size);
    this.#model.extend(this.#cross);
    this.#refresh();
    this.#bar.announce(`Crosshair at ${this.#cross.join(', ')}.`);
  }

  /** By keyboard: begins a mark at the crosshair, or ends it there. */
  #mark() {
    if (!this.#cross) this.#moveCross([0, 0]);
    const at = /** @type {DrawPoint} */ (this.#cross);
    if (this.#model.pending) return this.#end();
    this.#begin(at);
    if (this.#model.pending && this.#model.tool === 'note') return this.#end();
    this.#bar.announce(`${DRAW_LABELS[this.#model.tool]} begun at ${at.join(', ')}. Move with the arrow keys, Space ends it.`);
  }

  /** @param {DrawPoint} at */
  #openNote(at) {
    this.#stage.openNote(at);
    this.#bar.announce('Type the note. Enter keeps it, Shift and Enter begins a line, Escape drops it.');
  }

  #endNote() {
    const mark = this.#model.end(this.#stage.note.value);
    this.#stage.closeNote();
    this.#stage.focus();
    this.#changed();
    this.#bar.announce(mark ? drawDescription(mark) : 'No note was written.');
  }

  // ── Commands ──

  /** @param {DrawCommand} command */
  #run(command) {
    switch (command) {
      case 'undo': return this.#undo();
      case 'cancel': return this.#cancel();
      case 'send': return void this.#send().catch(console.warn);
      default: return undefined;
    }
  }

  #undo() {
    if (this.#stage.isNoting) return this.#dropMark();
    const mark = this.#model.undo();
    this.#changed();
    this.#bar.announce(mark ? `${DRAW_NAMES[mark.kind]} ${mark.id} undone.` : 'There is nothing to undo.');
  }

  /** Ends the innermost: the note, the mark, else all of it. */
  #escape() {
    if (this.#phase !== 'drawing' || !this.#model.pending) return this.#cancel();
    this.#dropMark();
    this.#stage.focus();
    this.#bar.announce('Dropped. Escape again cancels the drawing.');
  }

  #cancel() {
    if (this.#phase === 'ending') return;
    this.#sender.stop();
    this.#enter('ending');
    this.#tellEnd('cancel');
  }

  // ── Sending ──

  async #send() {
    if (this.#stage.isNoting) this.#endNote();
    else if (this.#model.pending) this.#end();
    if (this.#stage.isNoting) return;
    if (this.#model.marks.length === 0) return this.#bar.announce('Nothing is drawn yet. Draw something, or press Escape to cancel.', true);
    this.#enter('sending');
    const drawing = await this.#assemble();
    const end = 'drawing_id' in drawing ? await this.#sender.send(drawing, this.#waits.asks) : drawing;
    if (this.#phase !== 'sending') return;
    if (end.state === 'refused') return this.#refused(/** @type {any} */ (end));
    this.#leave('Sent.');
  }

  /** @param {{code: string, message: string}} error */
  #refused(error) {
    // The person changes it now: the same id would be the same drawing.
    this.#sending = null;
    this.#save();
    this.#enter('drawing');
    this.#bar.announce(drawTrouble(error), true);
  }

  /** Assembles the drawing once: a second attempt sends the same content under the same id. @returns {Promise<any>} */
  async #assemble() {
    const { marks } = this.#model;
    if (!this.#sending) {
      const styles = this.#waits.asks.some((ask) => ask.styles);
      const found = await this.#sender.ask({ draw: 'elements', marks: marks.map(drawTarget), styles });
      if (found.error) return { state: 'refused', ...found.error };
      this.#sending = { drawing_id: newDrawingId(), elements: found.elements, near: found.near, element_details: found.element_details };
      this.#save();
    }
    const { drawing_id, elements, near, element_details } = this.#sending;
    const annotations = marks.map((mark) => drawAnnotation(mark, elements[mark.id], near?.[mark.id]));
    return { drawing_id, screenshot_data_url: this.#stage.compose(marks), annotations, element_details, ...this.#page };
  }

  /** @param {DrawProgress} progress */
  #showProgress(progress) {
    const words = { sending: 'Sending…', waiting: 'Waiting for Tabwire… The drawing is kept in this tab. Escape cancels.',
      full: 'Tabwire cannot store the drawing just now (is the disk full?). Trying again…' };
    if (this.#phase === 'sending') this.#bar.announce(words[progress]);
  }
}
