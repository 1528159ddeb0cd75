// @ts-check
// The role, name, states and value of an element, as assistive technology is told them. By "ARIA in HTML", "HTML
// Accessibility API Mappings" and "Accessible Name and Description Computation 1.2". A classic script.

/** Longer names are cut: agents compare names, and read texts. */
const NAME_MAX = 200;

/**
 * @typedef {object} NameReader how the content of elements is read for a name
 * @property {boolean} isNaming the name is a part of another one: labels count no more
 * @property {(element: any, items: AccessibleItem[] | undefined) => string} own the content of the element itself
 * @property {(label: any) => string} label that of an element that names it, hidden or not
 */

class Accessible {
  /** One for all elements without: most have none, and a page has thousands of them. @type {string[]} */
  static NO_STATES = [];
  /** Elements that have labels. */
  static FIELDS = new Set(['input', 'select', 'textarea', 'button', 'meter', 'output', 'progress']);
  static #NAMED_NATIVELY = new Set([...Accessible.FIELDS, 'img', 'area', 'svg', 'fieldset', 'figure', 'table', 'optgroup', 'option', 'iframe', 'frame']);
  /** Roles whose name is their content, if nothing else names them. */
  static NAMED_BY_CONTENT = new Set([
    'button', 'cell', 'checkbox', 'columnheader', 'gridcell', 'heading', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'radio', 'row', 'rowheader', 'switch', 'tab', 'tooltip', 'treeitem', 'summary', 'clickable',
  ]);
  /** Roles that a person acts on. */
  static INTERACTIVE = new Set([
    'button', 'checkbox', 'combobox', 'gridcell', 'link', 'listbox', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio',
    'searchbox', 'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'treeitem', 'summary', 'file', 'color', 'date', 'time', 'datetime-local', 'month', 'week',
  ]);
  static #KNOWN = new Set([
    'alert', 'alertdialog', 'application', 'article', 'banner', 'blockquote', 'button', 'caption', 'cell', 'checkbox', 'code', 'columnheader', 'combobox',
    'complementary', 'contentinfo', 'definition', 'deletion', 'dialog', 'directory', 'document', 'emphasis', 'feed', 'figure', 'form', 'generic', 'grid',
    'gridcell', 'group', 'heading', 'img', 'image', 'insertion', 'link', 'list', 'listbox', 'listitem', 'log', 'main', 'mark', 'marquee', 'math', 'menu', 'menubar',
    'menuitem', 'menuitemcheckbox', 'menuitemradio', 'meter', 'navigation', 'none', 'note', 'option', 'paragraph', 'presentation', 'progressbar', 'radio',
    'radiogroup', 'region', 'row', 'rowgroup', 'rowheader', 'scrollbar', 'search', 'searchbox', 'separator', 'slider', 'spinbutton', 'status', 'strong',
    'subscript', 'superscript', 'switch', 'tab', 'table', 'tablist', 'tabpanel', 'term', 'textbox', 'time', 'timer', 'toolbar', 'tooltip', 'tree', 'treegrid', 'treeitem',
  ]);
  static #INPUTS = /** @type {Record<string, string>} */ ({
    button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton',
    search: 'searchbox', file: 'file', color: 'color', date: 'date', time: 'time', 'datetime-local': 'datetime-local', month: 'month', week: 'week',
  });
  static #ELEMENTS = /** @type {Record<string, string>} */ ({
    article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', caption: 'caption', code: 'code', datalist: 'listbox', dd: 'definition',
    del: 'deletion', details: 'group', dfn: 'term', dialog: 'dialog', dt: 'term', em: 'emphasis', fieldset: 'group', figure: 'figure', h1: 'heading', h2: 'heading',
    h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', hr: 'separator', html: 'document', ins: 'insertion', li: 'listitem', main: 'main', mark: 'mark',
    math: 'math', menu: 'list', meter: 'meter', nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option', output: 'status', p: 'paragraph',
    progress: 'progressbar', search: 'search', strong: 'strong', sub: 'subscript', summary: 'summary', sup: 'superscript', table: 'table', tbody: 'rowgroup', textarea: 'textbox',
    tfoot: 'rowgroup', thead: 'rowgroup', time: 'time', tr: 'row', ul: 'list', iframe: 'iframe', frame: 'iframe', canvas: 'canvas', video: 'video', audio: 'audio',
  });
  #dom;
  #secrets;
  #words;

  /** @param {PageDom} dom @param {any} secrets which fields nobody should read @param {PageWords} words */
  constructor(dom, secrets, words) {
    this.#dom = dom;
    this.#secrets = secrets;
    this.#words = words;
  }

  /** @param {any} element @returns {string} `generic` for one that says nothing by itself */
  role(element) {
    const own = this.#dom.attribute(element, 'role');
    if (own) {
      const role = own.toLowerCase().split(/\s+/).find((word) => Accessible.#KNOWN.has(word));
      // An element that takes the focus keeps its own role: `none` does not count there.
      if (role && !(['none', 'presentation'].includes(role) && this.isFocusable(element))) return role === 'presentation' ? 'none' : role === 'image' ? 'img' : role;
    }
    return this.#implicitRole(element);
  }

  /** @param {any} element */
  #implicitRole(element) {
    const tag = this.#dom.tag(element);
    const has = (/** @type {string} */ name) => this.#dom.has(element, name);
    switch (tag) {
      case 'div': case 'span': case 'b': case 'i': case 'label': break;
      case 'a': case 'area': return has('href') ? 'link' : this.#ownRole(element, 'generic');
      case 'img': return this.#dom.attribute(element, 'alt') === '' && !has('title') && !has('aria-label') ? 'none' : 'img';
      case 'svg': return has('aria-label') || has('aria-labelledby') || this.#svgTitle(element) ? 'img' : 'none';
      case 'input': return this.#inputRole(element);
      case 'select': return element.multiple || element.size > 1 ? 'listbox' : 'combobox';
      case 'section': return this.#isNamed(element) ? 'region' : 'generic';
      case 'form': return this.#isNamed(element) ? 'form' : 'generic';
      case 'header': return this.#isInSection(element) ? 'generic' : 'banner';
      case 'footer': return this.#isInSection(element) ? 'generic' : 'contentinfo';
      case 'td': return this.#isInGrid(element) ? 'gridcell' : 'cell';
      case 'th': return this.#dom.attribute(element, 'scope') === 'row' ? 'rowheader' : 'columnheader';
    }
    return this.#ownRole(element, Object.hasOwn(Accessible.#ELEMENTS, tag) ? Accessible.#ELEMENTS[tag] : 'generic');
  }

  /** A host of text that is edited in place is a text box, of any tag. @param {any} element @param {string} role otherwise */
  #ownRole(element, role) {
    if (!this.#dom.isMarked(element) || !this.#dom.has(element, 'contenteditable') || !this.#dom.isEdited(element)) return role;
    const parent = this.#dom.shownParent(element);
    return parent && this.#dom.isEdited(parent) ? role : 'textbox';
  }

  /** @param {any} element */
  #inputRole(element) {
    const type = String(element.type);
    if (Object.hasOwn(Accessible.#INPUTS, type)) return Accessible.#INPUTS[type];
    return this.#dom.has(element, 'list') ? 'combobox' : 'textbox';
  }

  /** @param {any} element */
  #isNamed(element) {
    return ['aria-label', 'aria-labelledby', 'title'].some((name) => this.#dom.has(element, name));
  }

  /** @param {any} element */
  #isInSection(element) {
    const parent = this.#dom.shownParent(element);
    return parent !== null && this.#dom.closest(parent, 'article, aside, main, nav, section') !== null;
  }

  /** @param {any} element */
  #isInGrid(element) {
    const table = this.#dom.closest(element, 'table, [role=grid], [role=treegrid]');
    return table !== null && ['grid', 'treegrid'].includes(this.#dom.attribute(table, 'role') ?? '');
  }

  /** @param {any} svg */
  #svgTitle(svg) {
    const title = this.#childOf(svg, 'title');
    return title ? this.#dom.textOf(title).trim() : '';
  }

  /** @param {any} element @param {string} tag */
  #childOf(element, tag) {
    return this.#dom.children(element).find((child) => this.#dom.isElement(child) && this.#dom.tag(child) === tag);
  }

  /** @param {any} element */
  isFocusable(element) {
    return this.#dom.tabIndex(element) >= 0 && element.disabled !== true;
  }

  /** @param {any} element @param {string} role whether a person acts on it, as far as its markup tells */
  isInteractive(element, role) {
    if (Accessible.INTERACTIVE.has(role)) return true;
    if (!this.#dom.isMarked(element)) return false;
    return this.#dom.has(element, 'onclick') || (this.#dom.has(element, 'tabindex') && this.#dom.tabIndex(element) >= 0);
  }

  /** Whether assistive technology is told nothing of it and of all below it. @param {any} element */
  isHidden(element) {
    return this.#dom.attribute(element, 'aria-hidden') === 'true' || this.#dom.has(element, 'inert');
  }

  /**
   * The accessible name, in one line of at most 200 characters.
   * @param {any} element @param {string} role @param {NameReader} reader @param {AccessibleItem[]} [items] its content, if it was read already @returns {string}
   */
  name(element, role, reader, items) {
    const name = this.#nameOf(element, role, reader, items);
    return name && this.#words.shown(name, NAME_MAX);
  }

  /** @param {any} element @param {string} role @param {NameReader} reader @param {AccessibleItem[] | undefined} items @returns {string} */
  #nameOf(element, role, reader, items) {
    if (!this.#dom.isMarked(element)) return this.#nativeName(element, reader) || this.#contentName(element, role, reader, items);
    const of = (/** @type {string} */ name) => (this.#dom.attribute(element, name) ?? '').trim();
    if (!reader.isNaming) {
      const labels = of('aria-labelledby').split(/\s+/).flatMap((id) => (id && this.#dom.byId(element, id)) || []);
      const named = labels.map((/** @type {any} */ label) => reader.label(label)).join(' ').trim();
      if (named) return named;
    }
    return of('aria-label') || this.#nativeName(element, reader) || this.#contentName(element, role, reader, items) || of('title') || of('placeholder') || of('aria-placeholder');
  }

  /** @param {any} element @param {string} role @param {NameReader} reader @param {AccessibleItem[] | undefined} items */
  #contentName(element, role, reader, items) {
    return Accessible.NAMED_BY_CONTENT.has(role) ? reader.own(element, items).trim() : '';
  }

  /** @param {any} element @param {NameReader} reader */
  #nativeName(element, reader) {
    const tag = this.#dom.tag(element);
    if (!Accessible.#NAMED_NATIVELY.has(tag)) return '';
    const of = (/** @type {string} */ name) => (this.#dom.attribute(element, name) ?? '').trim();
    switch (tag) {
      case 'img': case 'area': return of('alt');
      case 'svg': return this.#svgTitle(element);
      case 'fieldset': case 'figure': case 'table': {
        const title = this.#childOf(element, { fieldset: 'legend', figure: 'figcaption', table: 'caption' }[/** @type {'fieldset' | 'figure' | 'table'} */ (tag)]);
        return title ? reader.label(title).trim() : '';
      }
      case 'optgroup': case 'option': return of('label');
      case 'iframe': case 'frame': return of('title') || of('name');
      case 'input':
        if (['submit', 'reset', 'button'].includes(element.type)) return String(element.value) || { submit: 'Submit', reset: 'Reset', button: '' }[/** @type {'submit'} */ (element.type)];
        if (element.type === 'image') return of('alt') || 'Submit';
    }
    if (reader.isNaming || !Accessible.FIELDS.has(tag)) return '';
    return this.#dom.labelsOf(element).map((label) => reader.label(label).trim()).filter(Boolean).join(' ');
  }

  /** @param {any} element @param {string} role @returns {string[]} in words; not to be changed */
  states(element, role) {
    const tag = this.#dom.tag(element);
    if (!this.#dom.isMarked(element) && !Accessible.FIELDS.has(tag) && tag !== 'summary' && tag !== 'option') return Accessible.NO_STATES;
    const states = [];
    const aria = (/** @type {string} */ name) => this.#dom.attribute(element, `aria-${name}`);
    if (this.isDisabled(element)) states.push('disabled');
    const checked = this.checked(element, role);
    if (checked === 'true') states.push(role === 'button' ? 'pressed' : 'checked');
    if (checked === 'mixed') states.push('mixed');
    if (aria('selected') === 'true' || (tag === 'option' && element.selected === true)) states.push('selected');
    const expanded = aria('expanded') ?? (tag === 'summary' ? String(this.#dom.parent(element)?.open === true) : null);
    if (expanded !== null) states.push(expanded === 'true' ? 'expanded' : 'collapsed');
    if (this.isReadOnly(element)) states.push('readonly');
    if (element.required === true || aria('required') === 'true') states.push('required');
    if (aria('invalid') !== null && aria('invalid') !== 'false') states.push('invalid');
    const current = aria('current');
    if (current !== null && current !== 'false') states.push('current');
    return states.length === 0 ? Accessible.NO_STATES : states;
  }

  /** @param {any} element */
  isDisabled(element) {
    return this.#dom.attribute(element, 'aria-disabled') === 'true' || this.#dom.matches(element, ':disabled');
  }

  /** @param {any} element */
  isReadOnly(element) {
    return element.readOnly === true || this.#dom.attribute(element, 'aria-readonly') === 'true';
  }

  /** @param {any} element @param {string} role @returns {string | null} */
  checked(element, role) {
    if (this.#dom.tag(element) === 'input' && ['checkbox', 'radio'].includes(element.type)) return element.indeterminate ? 'mixed' : String(element.checked === true);
    if (role === 'button') return this.#dom.attribute(element, 'aria-pressed');
    return this.#dom.attribute(element, 'aria-checked');
  }

  /** The value that is entered or shown; of a secret only that there is one. @param {any} element @param {string} role @returns {string | undefined} */
  value(element, role) {
    const tag = this.#dom.tag(element);
    if (tag === 'input' && ['checkbox', 'radio', 'submit', 'reset', 'button', 'image', 'hidden'].includes(element.type)) return undefined;
    // One of another namespace has no options.
    if (tag === 'select') return element.multiple ? undefined : this.#words.shown(Array.from(element.selectedOptions ?? [], ({ label }) => label).join(', '), NAME_MAX);
    if (tag === 'input' && element.type === 'file') return this.#words.shown(Array.from(element.files ?? [], ({ name }) => name).join(', '), NAME_MAX) || undefined;
    if (tag === 'input' || tag === 'textarea' || (role === 'textbox' && this.#dom.isEdited(element))) {
      const text = this.entered(element);
      return text === undefined ? undefined : this.#words.shown(text, NAME_MAX);
    }
    if (tag === 'progress' || tag === 'meter') return element.position === -1 ? undefined : String(element.value);
    if (!this.#dom.isMarked(element)) return undefined;
    const told = this.#dom.attribute(element, 'aria-valuetext') ?? this.#dom.attribute(element, 'aria-valuenow');
    return told === null ? undefined : this.#words.shown(told, NAME_MAX);
  }

  /** All of a text that is edited, as it is; of a secret only that it is there. @param {any} element @returns {string | undefined} */
  entered(element) {
    const isField = ['input', 'textarea'].includes(this.#dom.tag(element));
    const text = isField ? String(element.value) : this.#dom.textOf(element).trim();
    if (text === '') return undefined;
    return this.isSecret(element) || this.#secrets.isCardNumber(text) ? '[redacted]' : text;
  }

  /** Whether nobody should read its value. @param {any} element */
  isSecret(element) {
    const tag = this.#dom.tag(element);
    // A form that is edited in place answers to the names of its fields before its own.
    const isField = Accessible.FIELDS.has(tag) || (tag !== 'form' && this.#dom.isEdited(element));
    return isField && this.#secrets.isField(element, this.#dom.labelsOf(element));
  }

  /** Of a heading or an item of a tree. @param {any} element @param {string} role @returns {number | undefined} */
  level(element, role) {
    if (role !== 'heading' && role !== 'treeitem') return undefined;
    const own = Number(this.#dom.attribute(element, 'aria-level'));
    if (own > 0) return own;
    const tag = this.#dom.tag(element);
    return /^h[1-6]$/.test(tag) ? Number(tag[1]) : undefined;
  }
}
