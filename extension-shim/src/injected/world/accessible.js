// @ts-check
// What assistive technology is told of an element: role, name, states, value. By "ARIA in HTML", "HTML
// Accessibility API Mappings" and "Accessible Name and Description Computation 1.2". A classic script.

/** @typedef {{name: string, states: string[], value: string | undefined}} Described */

class Accessible {
  /** Roles whose name is their content, if nothing else names them. */
  static NAMED_BY_CONTENT = new Set([
    'button', 'cell', 'checkbox', 'columnheader', 'gridcell', 'heading', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'radio', 'row', 'rowheader', 'switch', 'tab', 'tooltip', 'treeitem', 'summary',
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

  /** @param {PageDom} dom @param {any} secrets which fields nobody should read */
  constructor(dom, secrets) {
    this.#dom = dom;
    this.#secrets = secrets;
  }

  /** @param {any} element @returns {string} `generic` for one that says nothing by itself */
  role(element) {
    const own = this.#dom.attribute(element, 'role');
    if (own) {
      const role = own.toLowerCase().split(/\s+/).find((word) => Accessible.#KNOWN.has(word));
      // What can be focused says what it is, whatever its role denies.
      if (role && !(['none', 'presentation'].includes(role) && this.isFocusable(element))) return role === 'presentation' ? 'none' : role === 'image' ? 'img' : role;
    }
    return this.#implicitRole(element);
  }

  /** @param {any} element */
  #implicitRole(element) {
    const { localName } = element;
    const has = (/** @type {string} */ name) => this.#dom.has(element, name);
    switch (localName) {
      case 'a': case 'area': return has('href') ? 'link' : 'generic';
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
      default:
        // A host of text that is edited in place is a text box, whatever it is made of.
        if (element.isContentEditable === true && !this.#isInEditor(element)) return 'textbox';
        return Object.hasOwn(Accessible.#ELEMENTS, localName) ? Accessible.#ELEMENTS[localName] : 'generic';
    }
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
    return this.#dom.parent(element)?.closest?.('article, aside, main, nav, section') != null;
  }

  /** @param {any} element */
  #isInGrid(element) {
    const table = this.#dom.parent(element)?.closest?.('table, [role=grid], [role=treegrid]');
    return ['grid', 'treegrid'].includes(table && this.#dom.attribute(table, 'role'));
  }

  /** @param {any} element */
  #isInEditor(element) {
    return this.#dom.parent(element)?.isContentEditable === true;
  }

  /** @param {any} svg */
  #svgTitle(svg) {
    const title = this.#dom.children(svg).find(({ localName }) => localName === 'title');
    return title ? this.#dom.textOf(title).trim() : '';
  }

  /** @param {any} element */
  isFocusable(element) {
    return element.tabIndex >= 0 && element.disabled !== true;
  }

  /** @param {any} element @param {string} role */
  isInteractive(element, role) {
    return Accessible.INTERACTIVE.has(role) || this.#dom.has(element, 'onclick') || (this.#dom.has(element, 'tabindex') && element.tabIndex >= 0);
  }

  /** Whether assistive technology is told nothing of it and of all below it. @param {any} element */
  isHidden(element) {
    return this.#dom.attribute(element, 'aria-hidden') === 'true' || this.#dom.has(element, 'inert');
  }

  /** @param {any} element @param {string} role @returns {string} in one line, at most 200 characters */
  name(element, role) {
    return this.#tidy(this.#nameOf(element, role, { isLabel: false, seen: new Set() }));
  }

  /** @param {string} text */
  #tidy(text) {
    return this.#secrets.hide(text.replace(/\s+/g, ' ').trim().slice(0, 400)).slice(0, 200);
  }

  /** @param {any} element @param {string} role @param {{isLabel: boolean, seen: Set<any>}} so `isLabel`: it is read as the name of something else @returns {string} */
  #nameOf(element, role, so) {
    so.seen.add(element);
    const of = (/** @type {string} */ name) => (this.#dom.attribute(element, name) ?? '').trim();
    if (!so.isLabel) {
      const labels = of('aria-labelledby').split(/\s+/).flatMap((id) => (id && this.#dom.root(element).getElementById?.(id)) || []);
      const named = labels.map((/** @type {any} */ label) => this.#nameOf(label, this.role(label), { isLabel: true, seen: new Set() })).join(' ').trim();
      if (named) return named;
    }
    return of('aria-label') || this.#nativeName(element, so) || (Accessible.NAMED_BY_CONTENT.has(role) || so.isLabel ? this.#content(element, so.seen) : '')
      || of('title') || of('placeholder') || of('aria-placeholder');
  }

  /** @param {any} element @param {{isLabel: boolean, seen: Set<any>}} so */
  #nativeName(element, so) {
    const of = (/** @type {string} */ name) => (this.#dom.attribute(element, name) ?? '').trim();
    const childOf = (/** @type {string} */ name) => this.#dom.children(element).find(({ localName }) => localName === name);
    const { localName } = element;
    switch (localName) {
      case 'img': case 'area': return of('alt');
      case 'svg': return this.#svgTitle(element);
      case 'fieldset': case 'figure': case 'table': {
        const title = childOf({ fieldset: 'legend', figure: 'figcaption', table: 'caption' }[/** @type {'fieldset' | 'figure' | 'table'} */ (localName)]);
        return title ? this.#content(title, so.seen) : '';
      }
      case 'optgroup': return of('label');
      case 'option': return of('label');
      case 'input':
        if (['submit', 'reset', 'button'].includes(element.type)) return String(element.value) || { submit: 'Submit', reset: 'Reset', button: '' }[/** @type {'submit'} */ (element.type)];
        if (element.type === 'image') return of('alt') || 'Submit';
    }
    if (!['input', 'select', 'textarea', 'button', 'meter', 'output', 'progress'].includes(localName) || so.isLabel) return '';
    const labels = /** @type {any[]} */ (Array.from(element.labels ?? []));
    return labels.map((label) => this.#content(label, so.seen)).join(' ').trim();
  }

  /** What is read of an element's content. @param {any} element @param {Set<any>} seen */
  #content(element, seen) {
    let text = '';
    for (const node of this.#dom.shownIn(element)) {
      if (text.length > 400) break;
      if (node.nodeType === 3) text += node.data;
      if (node.nodeType !== 1 || seen.has(node) || this.isHidden(node) || !this.#dom.hasBox(node)) continue;
      if (['style', 'script', 'template', 'noscript'].includes(node.localName)) continue;
      const inner = this.#inName(node, seen);
      text += getComputedStyle(node).display.startsWith('inline') ? inner : ` ${inner} `;
    }
    return text;
  }

  /** @param {any} node an element in the name of another @param {Set<any>} seen @returns {string} */
  #inName(node, seen) {
    seen.add(node);
    const label = (this.#dom.attribute(node, 'aria-label') ?? '').trim();
    if (label) return label;
    if (node.localName === 'img' || node.localName === 'svg' || (node.localName === 'input' && ['submit', 'button', 'image'].includes(node.type))) return this.#nativeName(node, { isLabel: true, seen });
    if (node.localName === 'br') return ' ';
    if (['input', 'select', 'textarea'].includes(node.localName)) return '';
    return this.#content(node, seen);
  }

  /** @param {any} element @param {string} role @returns {string[]} in words */
  states(element, role) {
    const states = [];
    const aria = (/** @type {string} */ name) => this.#dom.attribute(element, `aria-${name}`);
    if (element.disabled === true || aria('disabled') === 'true' || this.#isInDisabledFieldset(element)) states.push('disabled');
    const checked = this.#checked(element, role);
    if (checked === 'true') states.push(role === 'button' ? 'pressed' : 'checked');
    if (checked === 'mixed') states.push('mixed');
    if (aria('selected') === 'true' || (element.localName === 'option' && element.selected === true)) states.push('selected');
    const expanded = aria('expanded') ?? (element.localName === 'summary' ? String(this.#dom.parent(element)?.open === true) : null);
    if (expanded !== null) states.push(expanded === 'true' ? 'expanded' : 'collapsed');
    if (element.readOnly === true || aria('readonly') === 'true') states.push('readonly');
    if (element.required === true || aria('required') === 'true') states.push('required');
    if (aria('invalid') !== null && aria('invalid') !== 'false') states.push('invalid');
    const current = aria('current');
    if (current !== null && current !== 'false') states.push('current');
    return states;
  }

  /** @param {any} element */
  #isInDisabledFieldset(element) {
    return ['input', 'select', 'textarea', 'button'].includes(element.localName) && this.#dom.matches(element, ':disabled');
  }

  /** @param {any} element @param {string} role @returns {string | null} */
  #checked(element, role) {
    if (element.localName === 'input' && ['checkbox', 'radio'].includes(element.type)) return element.indeterminate ? 'mixed' : String(element.checked === true);
    if (role === 'button') return this.#dom.attribute(element, 'aria-pressed');
    return this.#dom.attribute(element, 'aria-checked');
  }

  /** What is entered or shown as its value; secrets are only said to be there. @param {any} element @param {string} role @returns {string | undefined} */
  value(element, role) {
    const { localName } = element;
    if (localName === 'input' && ['checkbox', 'radio', 'submit', 'reset', 'button', 'image', 'hidden'].includes(element.type)) return undefined;
    if (localName === 'select') return element.multiple ? undefined : this.#tidy(Array.from(element.selectedOptions, ({ label }) => label).join(', '));
    if (localName === 'input' && element.type === 'file') return Array.from(element.files ?? [], ({ name }) => name).join(', ') || undefined;
    if (['input', 'textarea'].includes(localName)) {
      const text = String(element.value);
      if (text === '') return undefined;
      return this.#secrets.isField(element) || this.#secrets.isCardNumber(text) ? '[redacted]' : this.#tidy(text);
    }
    if (role === 'textbox' && element.isContentEditable === true) {
      const text = this.#tidy(this.#dom.textOf(element));
      return text && this.#secrets.isField(element) ? '[redacted]' : text || undefined;
    }
    if (['progress', 'meter'].includes(localName)) return element.position === -1 ? undefined : String(element.value);
    return this.#dom.attribute(element, 'aria-valuetext') ?? this.#dom.attribute(element, 'aria-valuenow') ?? undefined;
  }

  /** Of a heading or an item of a tree. @param {any} element @param {string} role @returns {number | undefined} */
  level(element, role) {
    const own = Number(this.#dom.attribute(element, 'aria-level'));
    if (own > 0) return own;
    return role === 'heading' && /^h[1-6]$/.test(element.localName) ? Number(element.localName[1]) : undefined;
  }
}
