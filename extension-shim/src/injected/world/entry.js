// @ts-check
// The questions that the worker can ask of a document. The last of the classic scripts of the world: it puts them
// together once.

/** In place of the text of a PDF. */
const PDF_TEXT = 'This tab shows a PDF, whose text is not in the page. A screenshot shows the part in view; execute_js gets the file: fetch(location.href).';

/**
 * @typedef {object} CheckQuestion
 * @property {number} id
 * @property {ReadinessOptions} options
 * @property {boolean} [arm] its events are watched from now on
 * @property {{clear: boolean, isFocused: boolean}} [enter] a ready field for text gets the focus, as by `enter`
 * @property {string[]} [choose] of a ready list these options are chosen, as by `choose`
 */

class PageWorld {
  #dom = new PageDom();
  #secrets = new Secrets(SECRET_TABLE);
  #words = new PageWords(this.#secrets);
  #accessible = new Accessible(this.#dom, this.#secrets, this.#words);
  #tree = new AccessibleTree(this.#dom, this.#accessible, this.#words);
  #refs = new RefTable();
  #finder = new TargetFinder(this.#dom, this.#accessible, this.#tree, this.#refs, this.#words);
  #changes = new MutationWatch(this.#dom);
  #codes = new CodeAddresses(this.#dom);
  #readiness = new ReadinessCheck(this.#dom, this.#accessible, this.#tree, this.#finder, this.#refs, this.#changes, this.#codes);
  #events = new EventWatch(this.#dom, this.#finder, this.#refs, this.#accessible, this.#tree, this.#readiness, this.#changes);
  #scripted = new ScriptedEvents(this.#dom);
  #scrolling = new ScrollControl(this.#dom, this.#finder);
  #files = new FileFields(this.#dom, this.#refs);
  #reader = new PageReader(this.#dom, this.#accessible, this.#words);
  #selection = new SelectionClipboard(this.#dom, this.#accessible, this.#words);
  #clipboard = new ClipboardGuard(this.#selection);
  #fields = new FieldEditor(this.#dom, this.#accessible, this.#finder, this.#words);
  #typing = new ScriptedText(this.#dom, this.#fields);
  #forms = new FormReader(this.#dom, this.#accessible, this.#tree, this.#finder, this.#fields, this.#words);
  #lasting = new LastingNames(this.#dom, this.#accessible, this.#tree, this.#words);
  #person = new PersonInput(this.#dom, this.#accessible, this.#finder, this.#lasting, this.#words);
  /** @type {PageAudit | undefined} */
  #audit;
  #texts = new ShownTexts(this.#dom, this.#finder, this.#words, this.#reader);
  #tools = new PageToolbox();
  #snapshot = new PageSnapshot(this.#dom, this.#accessible, this.#tree, this.#refs, this.#words);

  /** Called before each question. */
  begin() {
    this.#changes.use();
    this.#dom.forget();
  }

  /** Reads an element, if it is there. @param {number | undefined} id absent: all of the document @param {(element: any) => any} read */
  #read(id, read) {
    const element = id === undefined ? this.#dom.page : this.#refs.find(id)?.element;
    const isGone = !element || !this.#dom.isThere(element);
    return { ...(isGone ? { isGone } : { found: read(element) }), ...this.#about() };
  }

  /** @param {number | undefined} id absent: all of the document */
  #isPdf(id) {
    return id === undefined && this.#dom.isPdf;
  }

  /** With each answer: how many elements have a number, and where this document is. */
  #about() {
    return { count: this.#refs.count, place: this.#dom.ownPlace() };
  }

  /** @param {SnapshotOptions} options */
  snapshot(options) {
    if (this.#isPdf(options.id)) return { found: { text: PDF_TEXT, isCut: false }, ...this.#about() };
    return this.#read(options.id, (element) => ({ text: this.#snapshot.text(element, options), isCut: this.#tree.isCut || this.#snapshot.isCut }));
  }

  /** @param {{query: TargetQuery, most: number, ready?: Omit<CheckQuestion, 'id'>}} asked `ready`: the only one that fits is checked at once */
  find({ query, most, ready }) {
    try {
      const found = this.#finder.matches(query, most);
      const checked = ready && found.total === 1 ? this.check({ id: found.matches[0].id, ...ready }) : undefined;
      return { ...found, ...(checked && { checked }), ...this.#about() };
    } catch (error) {
      if (/** @type {any} */ (error)?.name !== 'SyntaxError') throw error;
      return { isWrong: true, total: 0, matches: [], ...this.#about() };
    }
  }

  /** Places of the frames that a selector finds. @param {string} css @returns {number[]} */
  framePlaces(css) {
    const frames = this.#dom.frames();
    return this.#finder.all({ css }).filter((element) => frames.includes(element)).map((frame) => this.#dom.placeOf(frame));
  }

  /** @param {{role?: string, name?: string, most: number}} lost */
  nearest(lost) {
    return { matches: this.#finder.nearest(lost, lost.most), ...this.#about() };
  }

  /** The role and the name of an element that agents were told of, there or not. @param {number} id */
  known(id) {
    const known = this.#refs.find(id);
    return known && { role: known.role, name: known.name };
  }

  /** @param {CheckQuestion} asked */
  check({ id, options, arm = false, enter, choose }) {
    const checked = this.#readiness.check(id, options);
    if (arm) this.#events.arm(checked.id);
    const field = checked.verdict === 'ready' && this.#fields.reading(this.#tree.stated(this.#refs.find(checked.id)?.element));
    const entry = enter && field && field.kind === 'text' && this.enter({ id: checked.id, ...enter });
    const choice = choose && field && field.kind === 'list' && this.choose({ id: checked.id, values: choose });
    return { ...checked, ...(field && { field }), ...(entry && { entry }), ...(choice && { choice }), ...this.#about() };
  }

  /** The same, once the pointer has come; null: it has not, and nobody waits any more. @param {CheckQuestion & {at: {x: number, y: number}}} asked */
  async checkAfterMove({ at, ...question }) {
    if (!await this.#events.pointerAt(at)) return null;
    this.begin();
    return this.check(question);
  }

  /** @param {{place: number, x: number, y: number, isPointed: boolean}} inner */
  fromFrame(inner) {
    const point = this.#readiness.fromFrame(inner);
    return point && { ...point, place: this.#dom.ownPlace() };
  }

  /** @param {{x: number, y: number, arm?: boolean}} point */
  at({ x, y, arm = false }) {
    const hit = this.#readiness.at(x, y);
    if (arm) this.#events.arm(hit?.id);
    return { hit, ...this.#about() };
  }

  /** Whether a press of a key that an element names as its own runs the code in an address. */
  runsCodeByKey() {
    return this.#codes.runsByKey();
  }

  /** @param {{place: number}} frame */
  frameAt({ place }) {
    return { view: this.#readiness.frameAt(place), place: this.#dom.ownPlace() };
  }

  /** @param {{id?: number, isWhole: boolean}} asked */
  marks({ id, isWhole }) {
    return this.#read(id, (element) => this.#snapshot.marks(element, isWhole));
  }

  /** The places of the frames in an element. @param {{id: number}} asked */
  framesWithin({ id }) {
    return this.#read(id, (element) => this.#dom.frames().filter((frame) => this.#dom.holds(element, frame)).map((frame) => this.#dom.placeOf(frame)));
  }

  /** What works in a tab that shows a PDF; null: it shows none. */
  pdfWords() {
    return this.#dom.isPdf ? PDF_TEXT : null;
  }

  place() {
    return this.#dom.ownPlace();
  }

  arm() {
    this.#events.arm();
  }

  /** How the page is shown, in CSS px. `whole`: with scroll bars. */
  shown() {
    const { pageLeft: left, pageTop: top, width, height, scale } = /** @type {VisualViewport} */ (visualViewport);
    return { left, top, width, height, whole: { width: innerWidth / scale, height: innerHeight / scale }, pixelRatio: devicePixelRatio };
  }

  /** Resolves when the page has painted. @returns {Promise<void>} */
  twoFrames() {
    return new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(() => resolve())); });
  }

  /** Resolves when all that the page has put off until its next frame is done. @returns {Promise<void>} */
  nextFrame() {
    return new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  }

  /** Resolves when the page's timers that are due have run. @returns {Promise<void>} */
  timersTurn() {
    return new Promise((resolve) => { setTimeout(resolve); });
  }

  /** @param {{id?: number, entries?: TextEntryCheck[]}} meant `entries`: as of `entered` */
  landed({ id, entries = [] }) {
    const texts = entries.length > 0 ? { entered: this.entered({ entries }) } : {};
    const copied = this.#clipboard.taken();
    const { leaving } = this.#events;
    return { ...this.#events.landed(id), ...texts, ...(copied && { copied }), ...(leaving && { leaving }), changes: this.#changes.count, url: location.href, ...this.#about() };
  }

  /**
   * The same, once the last events of the act have come; null: they have not, or the page is about to be another one.
   * @param {{id?: number, entries?: TextEntryCheck[]} & ({keys: number} | {at: {x: number, y: number}})} asked how many keys go up, or where the pointer comes
   */
  async landedAfter(asked) {
    const hasCome = await ('keys' in asked ? this.#events.keysUp(asked.keys) : this.#events.pointerAt(asked.at));
    if (!hasCome || this.#events.isLeaving) return null;
    this.begin();
    return this.landed(asked);
  }

  /** Whether the page has begun a drag and drop since its events are watched. */
  hasDragStarted() {
    return this.#events.hasCome('dragstart');
  }

  /** @param {ScrollWish} wish */
  scroll(wish) {
    if (wish.id !== undefined) return this.#read(wish.id, (element) => this.#scrolling.scroll(element, wish));
    return { found: this.#scrolling.scroll(null, wish), ...this.#about() };
  }

  /** The size of what is seen of it. */
  view() {
    return { width: innerWidth, height: innerHeight };
  }

  /** @param {{id: number}} asked in the middle of the view */
  center({ id }) {
    return this.#read(id, (element) => this.#dom.scrollTo(element, 'center'));
  }

  /** @param {ScriptedClick & {isStrict?: boolean}} click `isStrict`: only as long as a real press at its point would come to it */
  clickByScript({ isStrict = false, ...click }) {
    return this.#read(click.id, (element) => {
      return this.#scripted.click(element, click, isStrict ? () => this.#readiness.refusal(element, click.point) : () => null);
    });
  }

  /** @param {{id: number, text: string, clear: boolean, isFirst: boolean, keepsFocus: boolean}} asked */
  typeByScript({ id, ...how }) {
    return this.#read(id, (element) => this.#typing.insert(element, how));
  }

  /** @param {{id: number, typed: string, isAll: boolean}} asked */
  tookText({ id, typed, isAll }) {
    return this.#read(id, (element) => this.#typing.isTaken(element, typed, isAll));
  }

  /** All that shows whether an act has had an effect here. @param {{id?: number}} asked the element that is acted on */
  traces({ id }) {
    this.#changes.coverAll();
    return { changes: this.#changes.count, url: location.href, left: scrollX, top: scrollY, ...(id !== undefined && this.#events.traces(id)) };
  }

  /** @param {number} ms */
  nextChange(ms) {
    return this.#changes.nextChange(this.#texts.hasLoaded() ? ms : Math.min(ms, ShownTexts.LOADING_MS));
  }

  /**
   * Waits for the next change, and looks at once.
   * @param {{ms: number, since: number, pauseMs: number, texts: string[]}} asked `since`, `texts`: as of `look`; `pauseMs`: a change that comes sooner is not looked at
   * @returns {Promise<object | null>} as of `look`; null: it is to be asked
   */
  async changed({ ms, since, pauseMs, texts }) {
    // It may be asked of the document before: an answer that is waited for would hold back the load event of this one.
    if (!this.#texts.hasLoaded()) return null;
    const askedAt = performance.now();
    const hasChanged = await this.#changes.nextChange(ms, since);
    if (!hasChanged || performance.now() - askedAt < pauseMs) return null;
    this.begin();
    return this.look({ texts });
  }

  /** Ends all waits for changes, and the watches. */
  rest() {
    this.#changes.rest();
    this.#events.disarm();
  }

  /** @param {{texts: string[]}} asked */
  look({ texts }) {
    // Counted first: a change while it looks counts as one after it.
    const { count: changes } = this.#changes;
    return { ...this.#texts.look(texts), changes };
  }

  /** @param {{text: string}} lost */
  nearestLines({ text }) {
    return this.#texts.nearest(text);
  }

  pageTools() {
    return this.#tools.list();
  }

  /** @param {{definition: string, input: object}} asked */
  callPageTool({ definition, input }) {
    return this.#tools.call(definition, input);
  }

  stopPageTool() {
    this.#tools.stop();
  }

  /** @param {{id?: number, most: number}} asked `most`: no more of it goes to the worker, which serves all tabs */
  text({ id, most }) {
    if (this.#isPdf(id)) return { found: this.#words.head(PDF_TEXT, most), ...this.#about() };
    return this.#read(id, (element) => this.#words.head(this.#reader.text(element), most));
  }

  /** @param {{id?: number, most: number}} asked */
  markdown({ id, most }) {
    if (this.#isPdf(id)) return { found: this.#words.head(PDF_TEXT, most), ...this.#about() };
    return this.#read(id, (element) => this.#words.head(this.#reader.markdown(id === undefined ? undefined : element), most));
  }

  /** @param {{id?: number, most: number}} asked */
  html({ id, most }) {
    return this.#read(id, (element) => this.#words.head(this.#reader.html(element), most));
  }

  /** @param {{id: number, most: number}} asked */
  value({ id, most }) {
    return this.#read(id, (element) => this.#reader.value(element, most));
  }

  /** @param {{id: number, names?: string[]}} asked */
  attributes({ id, names }) {
    return this.#read(id, (element) => this.#reader.attributes(element, names));
  }

  /** Keeps an element until the debugger fetches it by the secret. @param {{id: number, secret: string}} asked */
  handOver({ id, secret }) {
    return this.#files.handOver(id, secret);
  }

  /** Asked by the debugger alone. @param {string} secret */
  handed(secret) {
    return this.#files.handed(secret);
  }

  /** @param {any} field */
  fileField(field) {
    return this.#files.about(field);
  }

  /** @param {any} field */
  watchFiles(field) {
    this.#files.watch(field);
  }

  /** @param {any} field */
  seenFiles(field) {
    return this.#files.seen(field);
  }

  armDrop() {
    this.#files.armDrop();
  }

  /** @param {number} id */
  dragged(id) {
    return this.#files.dragged(id);
  }

  /** @param {{id: number, clear: boolean, isFocused: boolean, keepsFocus?: boolean}} asked */
  enter({ id, ...how }) {
    return this.#read(id, (element) => this.#fields.enter(element, how));
  }

  /** Of each field whether it holds what was entered. @param {{entries: TextEntryCheck[]}} asked */
  entered({ entries }) {
    return entries.map(({ id, typed, isAll }) => {
      const read = this.#read(id, (element) => this.#fields.outcome(element, typed, isAll));
      return 'found' in read ? read.found : {};
    });
  }

  /** @param {{id: number}} asked @returns {any} of a box, or of the one that a label stands for */
  checked({ id }) {
    return this.#read(id, (element) => {
      const field = this.#tree.stated(element);
      return { checked: this.#accessible.checked(field, this.#accessible.role(field)) };
    });
  }

  /** @param {{id: number, value: string, keepsFocus?: boolean}} asked */
  setValue({ id, value, keepsFocus = false }) {
    return this.#read(id, (element) => this.#fields.setValue(element, value, keepsFocus));
  }

  /** @param {{id: number, operation: 'copy' | 'cut', isAll: boolean}} asked */
  copy({ id, operation, isAll }) {
    return this.#read(id, (element) => {
      if (isAll) this.#selection.select(element);
      return this.#selection.copy(element, operation);
    });
  }

  /** @param {{channel: string, ms: number, isPasteOnly: boolean}} cover */
  coverClipboard(cover) {
    this.#clipboard.cover(cover);
  }

  liftClipboard() {
    this.#clipboard.lift();
  }

  /** The newest copy of the page that nobody has asked for. */
  takenCopy() {
    return this.#clipboard.taken();
  }

  /** @param {{id: number, data: Record<string, string>}} asked */
  paste({ id, data }) {
    return this.#read(id, (element) => this.#selection.paste(element, data));
  }

  /** @param {{id: number, key: KeyboardEventInit}} asked */
  pressKey({ id, key }) {
    return this.#read(id, (element) => this.#selection.pressKey(element, key));
  }

  /** @param {{id: number, values: string[], keepsFocus?: boolean}} asked */
  choose({ id, values, keepsFocus = false }) {
    return this.#read(id, (element) => this.#fields.choose(element, values, keepsFocus));
  }

  /** @param {{id: number, value: string}} asked */
  radioOf({ id, value }) {
    return this.#read(id, (element) => this.#fields.radioOf(element, value));
  }

  /** Whether its scripts are loaded. */
  hasAudit() {
    return Object.hasOwn(globalThis, 'tabwireAudit');
  }

  /** @param {AuditOptions & {id?: number, most: number}} asked @returns {Promise<any>} */
  async audit({ id, most, ...options }) {
    const { axe, tabwireAudit } = /** @type {any} */ (globalThis);
    const audit = this.#audit ??= /** @type {PageAudit} */ (new tabwireAudit(axe, this.#dom, this.#words));
    const unknown = audit.unknown(options);
    if (unknown.rules.length + unknown.tags.length > 0) return { unknown, nearest: unknown.rules.flatMap((rule) => audit.nearest(rule)) };
    const { found, isGone } = /** @type {any} */ (this.#read(id, (element) => ({ element, elements: this.#dom.inside(element, '*').length })));
    if (isGone) return { isGone };
    if (found.elements > most) return { elements: found.elements };
    const outcome = await audit.run(found.element, options).catch((error) => ({ failed: this.#words.shown(String(error?.message ?? error), 200) }));
    if ('failed' in outcome) return outcome;
    const { violations, incomplete, passes } = outcome;
    const described = (/** @type {RawFinding} */ { nodes, ...finding }) => ({
      ...finding,
      elements: nodes.map(({ element, fix }) => {
        const { id: number, role, name } = this.#finder.describe(element);
        return { id: number, element: `${role}${name ? ` ${JSON.stringify(name)}` : ''}`, fix };
      }),
    });
    return { found: { version: audit.version, violations: violations.map(described), incomplete: incomplete.map(described), passes }, ...this.#about() };
  }

  /** @param {{id: number}} asked */
  lasting({ id }) {
    return this.#read(id, (element) => {
      const { ways, ...more } = this.#lasting.of(element);
      return { names: ways.map(([target]) => target), ...more };
    });
  }

  /** The person's input becomes acts of a recording. */
  watchPerson() {
    this.#person.begin();
  }

  unwatchPerson() {
    this.#person.end();
  }

  /** @param {{id?: number}} asked */
  forms({ id }) {
    return this.#read(id, (element) => this.#forms.read(element));
  }

  /** @param {{id: number}} asked */
  submitter({ id }) {
    return this.#read(id, (element) => {
      const { button, isForm } = this.#fields.submitter(element);
      return { isForm, ...(button && { button: button.id }) };
    });
  }

  /** @param {{id: number}} asked */
  submit({ id }) {
    return this.#read(id, (element) => this.#fields.submit(element));
  }

  /** The element that gets the keys. @param {{arm?: boolean}} asked */
  focused({ arm = false }) {
    if (arm) this.#events.arm();
    return { hit: this.#readiness.focused(), ...this.#about() };
  }

  /** Gives an element the focus, as the tabulator key does. @param {{id: number}} asked */
  focus({ id }) {
    return this.#read(id, (element) => {
      this.#dom.focus(element);
      return this.#dom.active() === element;
    });
  }
}

(() => {
  // An element that the page gives this name shows as an inherited property.
  if (Object.hasOwn(globalThis, 'tabwireWorld')) return;
  const world = new PageWorld();
  /** @param {string} name @param {any} argument */
  const ask = (name, argument) => {
    world.begin();
    return /** @type {any} */ (world)[name](argument);
  };
  Object.defineProperty(globalThis, 'tabwireWorld', { value: ask });
})();
