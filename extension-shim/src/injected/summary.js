// @ts-check
// Summarises a page in the few lines that an agent needs to find its way. Runs beside the page, like `Look`.

/** @import {Look} from './look.js' */

export class Summary {
  #look;
  #most = { headings: 50, landmarks: 30, forms: 10, fields: 40, options: 10, first: 25, frames: 10, notices: 5, text: 2000 };
  #landmarks = {
    header: 'banner', nav: 'navigation', main: 'main', aside: 'complementary', footer: 'contentinfo', search: 'search',
  };
  #fieldRoles = new Set(['textbox', 'searchbox', 'combobox', 'listbox', 'checkbox', 'switch', 'radio', 'slider', 'spinbutton']);
  /** @type {any[]} */ #headings = [];
  /** @type {any[]} */ #found = [];
  /** @type {Map<any, any>} */ #forms = new Map();
  /** @type {any[]} */ #frames = [];
  /** @type {any} */ #notices = { dialogs: [], alerts: [] };
  #buttons = { count: 0, first: /** @type {string[]} */ ([]) };
  #links = { count: 0, first: /** @type {any[]} */ ([]) };
  #hidden = 0;
  /** @type {any} */ #main = null;

  /** @param {Look} look */
  constructor(look) {
    this.#look = look;
  }

  read() {
    const { documentElement: page } = document;
    this.#look.walk(page, (node) => node.nodeType !== 1 || this.#visit(node), { flat: true });
    const full = this.#look.full;
    this.#look.renew(0.1);
    const active = document.activeElement;
    return {
      url: location.href,
      title: this.#title(),
      language: page.lang || null,
      description: this.#look.cut(document.querySelector('meta[name=description i]')?.getAttribute('content') ?? '', 300) || null,
      ready_state: document.readyState,
      viewport: { width: innerWidth, height: innerHeight, scroll_y: Math.round(scrollY), page_height: page.scrollHeight },
      headings: this.#headings,
      landmarks: this.#found,
      forms: Array.from(this.#forms.values()),
      buttons: this.#buttons,
      links: this.#links,
      frames: this.#frames,
      ...this.#notices,
      focused: active && active !== document.body && active !== page ? this.#look.selector(active) : null,
      text: this.#look.text(this.#main ?? document.body ?? page, this.#most.text),
      hidden_controls: this.#hidden,
      incomplete: full,
    };
  }

  /** The document's own, whatever of the page is called `title`. */
  #title() {
    const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'title'));
    return get.call(document);
  }

  /** @param {any} element @returns {boolean} whether to look into it */
  #visit(element) {
    if (getComputedStyle(element).display === 'none') {
      this.#hidden += element.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea').length;
      return false;
    }
    const role = (this.#look.attribute(element, 'role') ?? '').trim().split(/\s+/)[0];
    const tag = element.localName;
    if (/^h[1-6]$/.test(tag) || role === 'heading') this.#heading(element, tag);
    this.#landmark(element, tag, role);
    if (tag === 'form') this.#form(element);
    if (tag === 'dialog' || ['dialog', 'alertdialog'].includes(role)) this.#notice('dialogs', element);
    if (['alert', 'status'].includes(role)) this.#notice('alerts', element);
    if (tag === 'iframe' || tag === 'frame') return this.#frame(element);
    return this.#control(element, tag, role);
  }

  /** @param {any} element @param {string} tag @param {string} role */
  #control(element, tag, role) {
    const type = tag === 'input' ? element.type : '';
    if (type === 'hidden') return false;
    const isButton = ['button', 'summary'].includes(tag) || role === 'button' || ['button', 'submit', 'reset', 'image'].includes(type);
    const isLink = (tag === 'a' && this.#look.attribute(element, 'href') !== null) || role === 'link';
    const isField = ['input', 'select', 'textarea'].includes(tag) || this.#fieldRoles.has(role)
      || (element.isContentEditable && !element.parentElement?.isContentEditable);
    if (!isButton && !isLink && !isField) return true;
    if (!this.#isShown(element)) this.#hidden += 1;
    else if (isButton) this.#button(element);
    else if (isLink) this.#link(element);
    else this.#field(element, type || role || tag);
    return !isField;
  }

  /** A control is often drawn by its label while it is invisible itself. @param {any} element */
  #isShown(element) {
    const hidden = this.#look.hiddenBy(element);
    return hidden === null || (hidden !== 'visibility' && ['checkbox', 'radio', 'file'].includes(element.type));
  }

  /** @param {any} element @param {string} tag */
  #heading(element, tag) {
    const text = this.#look.name(element);
    if (!text || this.#headings.length >= this.#most.headings || this.#look.hiddenBy(element)) return;
    this.#headings.push({ level: Number(this.#look.attribute(element, 'aria-level') ?? tag[1]) || 2, text });
  }

  /** @param {any} element @param {string} tag @param {string} given */
  #landmark(element, tag, given) {
    const isOfThePage = !element.closest('article, section, main, aside, nav, [role=main]:not(main)') || !['header', 'footer'].includes(tag);
    const role = given || (isOfThePage && /** @type {Record<string, string>} */ (this.#landmarks)[tag]) || (tag === 'section' ? 'region' : '');
    const roles = [...Object.values(this.#landmarks), 'region'];
    if (!roles.includes(role) || this.#look.hiddenBy(element) === 'display') return;
    if (role === 'main') this.#main ??= element;
    const labelled = ['aria-label', 'aria-labelledby'].some((name) => this.#look.attribute(element, name));
    const name = labelled ? this.#look.name(element) : '';
    if ((role === 'region' && !name) || this.#found.length >= this.#most.landmarks) return;
    this.#found.push({ role, ...(name && { name }), selector: this.#look.selector(element) });
  }

  /** @param {any} form or the document: for what stands in none @returns {any} */
  #form(form) {
    const known = this.#forms.get(form);
    if (known || this.#forms.size >= this.#most.forms) return known;
    const about = form === document ? { outside_forms: true } : this.#aboutForm(form);
    const entry = { ...about, fields: [], buttons: [] };
    this.#forms.set(form, entry);
    return entry;
  }

  /** @param {any} form */
  #aboutForm(form) {
    const of = (/** @type {string} */ name) => this.#look.attribute(form, name);
    const name = of('aria-label') || of('name');
    const action = this.#short(of('action') ?? '');
    return { selector: this.#look.selector(form), ...(name && { name }), method: (of('method') ?? 'get').toLowerCase(), action };
  }

  /** @param {any} element */
  #formOf(element) {
    const form = 'form' in element ? element.form : element.closest('form');
    return this.#form(form ?? document);
  }

  /** @param {any} field @param {string} type */
  #field(field, type) {
    const look = this.#look;
    const form = this.#formOf(field);
    if (!form) return;
    if (form.fields.length >= this.#most.fields) return void (form.more_fields = (form.more_fields ?? 0) + 1);
    const within = look.within(field);
    const label = look.name(field);
    const name = look.attribute(field, 'name');
    const options = field.localName === 'select' ? Array.from(field.options, ({ label: text }) => look.cut(text, 60)) : [];
    form.fields.push({
      selector: look.selector(field),
      ...(within.length > 0 && { within }),
      type,
      ...(label && { label }),
      ...(name && { name }),
      ...look.entered(field),
      ...(look.matches(field, ':required, [aria-required=true]') && { required: true }),
      ...(look.matches(field, ':disabled, [aria-disabled=true]') && { disabled: true }),
      ...(look.attribute(field, 'aria-invalid') === 'true' && { invalid: true }),
      ...(options.length > 0 && { options: options.slice(0, this.#most.options) }),
      ...(options.length > this.#most.options && { more_options: options.length - this.#most.options }),
    });
  }

  /** @param {any} button */
  #button(button) {
    this.#buttons.count += 1;
    const owner = 'form' in button ? button.form : button.closest('form');
    const lists = [this.#buttons.first, (owner && this.#form(owner)?.buttons) ?? []].filter(({ length }) => length < this.#most.first);
    if (lists.length === 0) return;
    const name = this.#look.name(button) || `(no name) ${this.#look.selector(button)}`;
    for (const list of lists) list.push(name);
  }

  /** @param {any} link */
  #link(link) {
    this.#links.count += 1;
    if (this.#links.first.length >= this.#most.first) return;
    const href = this.#look.attribute(link, 'href');
    this.#links.first.push({ text: this.#look.name(link), ...(href !== null && { href: this.#short(href) }) });
  }

  /** Without the origin that the page has itself. @param {string} url */
  #short(url) {
    if (!URL.canParse(url, document.baseURI)) return this.#look.cut(url, 200);
    const { href, origin } = new URL(url, document.baseURI);
    return this.#look.cut(origin === location.origin ? href.slice(origin.length) : href, 200);
  }

  /** @param {any} frame @returns {boolean} */
  #frame(frame) {
    const reached = this.#look.frameIn(frame) !== null;
    if (this.#look.hiddenBy(frame)) return false;
    const name = this.#look.attribute(frame, 'title') || this.#look.attribute(frame, 'name');
    const src = this.#look.attribute(frame, 'src');
    const entry = { selector: this.#look.selector(frame), ...(name && { name }), ...(src && { url: this.#short(src) }), ...(!reached && { not_read: 'of another origin' }) };
    if (this.#frames.length < this.#most.frames) this.#frames.push(entry);
    return reached;
  }

  /** @param {'dialogs' | 'alerts'} kind @param {any} element */
  #notice(kind, element) {
    const text = this.#look.hiddenBy(element) ? '' : this.#look.line(element, 200);
    if (text && this.#notices[kind].length < this.#most.notices) this.#notices[kind].push(text);
  }
}

/** An expression whose value is a function that takes a `Look`. */
export const summarySource = () => `((look)=>new(${Summary})(look))`;
