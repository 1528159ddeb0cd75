// @ts-check
// The text of a page, plain or as Markdown, and the values and attributes of its elements. A classic script.

/**
 * @typedef {object} ReadingStyle
 * @property {boolean} isMarkdown
 * @property {boolean} isMain navigation, header, footer and sidebars are left out
 *
 * @typedef {object} TextBlocks paragraphs, and the line that is not at its end
 * @property {string[]} blocks
 * @property {string} line
 */

class PageReader {
  static #UNREAD = new Set(['script', 'style', 'noscript', 'template', 'head', 'svg', 'canvas', 'video', 'audio', 'select', 'textarea', 'input', 'datalist', 'object', 'embed']);
  static #AROUND = 'nav, aside, footer, header, [role=navigation], [role=banner], [role=contentinfo], [role=complementary], [role=search]';
  static #DEPTH_MAX = 900;
  /** A main part of fewer characters is not where the content is. */
  static #MAIN_LEAST = 200;
  /** Nobody chooses by a longer label. */
  static #OPTION_MAX = 2_000;
  #dom;
  #accessible;
  #words;

  /** @param {PageDom} dom @param {Accessible} accessible @param {PageWords} words */
  constructor(dom, accessible, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#words = words;
  }

  /** @param {any} element @returns {string} a line a block, the cells of a table parted by tabs */
  text(element) {
    return this.#words.block(this.#blocks(element, { isMarkdown: false, isMain: false }, 0).join('\n').replace(/\n{3,}/g, '\n\n'));
  }

  /** @param {any} [element] absent: the main content of the page @returns {string} */
  markdown(element) {
    const read = (/** @type {any} */ one, /** @type {boolean} */ isMain) => this.#words.block(this.#blocks(one, { isMarkdown: true, isMain }, 0).join('\n\n'));
    if (element) return read(element, false);
    const body = this.#dom.body ?? this.#dom.page;
    const mains = this.#dom.select(document, 'main, [role=main]').filter((main) => this.#dom.isVisible(main));
    const articles = mains.length > 0 ? [] : this.#dom.select(document, 'article').filter((article) => this.#dom.isVisible(article));
    const [main] = mains.length > 0 ? mains : articles.length === 1 ? articles : [body];
    const text = read(main, true);
    return text.length >= PageReader.#MAIN_LEAST || main === null ? text : read(body, false);
  }

  /** @param {any} element @param {ReadingStyle} style @param {number} depth @returns {string[]} */
  #blocks(element, style, depth) {
    /** @type {TextBlocks} */
    const out = { blocks: [], line: '' };
    this.#children(element, out, style, depth);
    this.#endLine(out);
    return out.blocks;
  }

  /** @param {TextBlocks} out */
  #endLine(out) {
    const line = out.line.replace(/[^\S\n]+/g, ' ').replace(/ *\n */g, '\n').trim();
    if (line) out.blocks.push(line);
    out.line = '';
  }

  /** @param {any} element @param {TextBlocks} out @param {ReadingStyle} style @param {number} depth */
  #children(element, out, style, depth) {
    if (depth > PageReader.#DEPTH_MAX) return;
    const isShut = this.#dom.tag(element) === 'details' && element.open !== true;
    const { visibility } = getComputedStyle(element);
    for (const child of this.#dom.shownIn(element)) {
      const kind = this.#dom.kind(child);
      // A mark of ours in the text of a page is none.
      if (kind === 3 && visibility === 'visible' && !isShut) out.line += this.#dom.data(child).replace(/[\s\0-\x1f]+/g, ' ');
      if (kind === 1 && (!isShut || this.#dom.tag(child) === 'summary')) this.#element(child, out, style, depth + 1);
    }
  }

  /** @param {any} element @param {TextBlocks} out @param {ReadingStyle} style @param {number} depth */
  #element(element, out, style, depth) {
    const tag = this.#dom.tag(element);
    if (PageReader.#UNREAD.has(tag)) return;
    const { display, contentVisibility } = getComputedStyle(element);
    if (display === 'none' || contentVisibility === 'hidden') return;
    if (style.isMain && this.#dom.matches(element, PageReader.#AROUND)) return;
    if (this.#dom.isEdited(element) && this.#accessible.isSecret(element)) return;
    if (tag === 'br') return void (out.line += '\n');
    if (this.#inLine(element, tag, out, style, depth)) return;
    // A frame is inline unless the page says otherwise, and holds a page of its own.
    const isBlock = tag === 'iframe' || (!display.startsWith('inline') && display !== 'contents');
    if (!isBlock) return this.#children(element, out, style, depth);
    this.#endLine(out);
    out.blocks.push(...this.#block(element, tag, style, depth));
  }

  /** @param {any} element @param {string} tag @param {TextBlocks} out @param {ReadingStyle} style @param {number} depth @returns {boolean} whether it has a form of its own within a line */
  #inLine(element, tag, out, style, depth) {
    if (!style.isMarkdown) return false;
    const attribute = (/** @type {string} */ name) => this.#words.line(this.#dom.attribute(element, name) ?? '');
    const around = (/** @type {string} */ mark) => {
      const text = this.#oneLine(element, style, depth);
      out.line += text ? `${mark}${text}${mark}` : '';
      return true;
    };
    switch (tag) {
      case 'img':
        out.line += attribute('alt') && !attribute('src').startsWith('data:') ? `![${attribute('alt')}](${attribute('src')})` : attribute('alt');
        return true;
      case 'a': {
        const href = attribute('href');
        const text = this.#oneLine(element, style, depth);
        if (!href || !text || /^(javascript|data):/i.test(href)) out.line += ` ${text} `;
        else out.line += `[${text}](${href})`;
        return true;
      }
      case 'strong': case 'b': return around('**');
      case 'em': case 'i': return around('*');
      case 'code': case 'kbd': case 'samp': return around('`');
    }
    return false;
  }

  /** @param {any} element @param {ReadingStyle} style @param {number} depth */
  #oneLine(element, style, depth) {
    return this.#blocks(element, style, depth).join(' ').replace(/\s+/g, ' ');
  }

  /** @param {any} element @param {string} tag @param {ReadingStyle} style @param {number} depth @returns {string[]} */
  #block(element, tag, style, depth) {
    if (tag === 'iframe' || tag === 'frame') return [`${LINE_MARKS.frame}${this.#dom.placeOf(element)}`];
    if (tag === 'pre') return this.#preformatted(element, style);
    if (tag === 'tr') return [this.#cells(element, style, depth).join('\t')];
    if (!style.isMarkdown) return tag === 'p' ? ['', ...this.#blocks(element, style, depth), ''] : this.#blocks(element, style, depth);
    if (/^h[1-6]$/.test(tag)) {
      const text = this.#oneLine(element, style, depth);
      return text ? [`${'#'.repeat(Number(tag[1]))} ${text}`] : [];
    }
    switch (tag) {
      case 'ul': case 'ol': case 'menu': return this.#list(element, tag, style, depth);
      case 'table': return this.#table(element, style, depth);
      case 'blockquote': return [this.#blocks(element, style, depth).join('\n\n').replace(/^/gm, '> ')];
      case 'hr': return ['---'];
    }
    return this.#blocks(element, style, depth);
  }

  /** @param {any} element @param {ReadingStyle} style @returns {string[]} */
  #preformatted(element, { isMarkdown }) {
    const text = this.#dom.textOf(element).replace(/[\0-\x08\x0e-\x1f]/g, '').replace(/\s+$/, '');
    if (text === '') return [];
    return [isMarkdown ? `\`\`\`\n${text}\n\`\`\`` : text];
  }

  /** @param {any} list @param {string} tag @param {ReadingStyle} style @param {number} depth @returns {string[]} */
  #list(list, tag, style, depth) {
    let number = tag === 'ol' ? Number(this.#dom.attribute(list, 'start') ?? 1) : 0;
    const items = this.#dom.shownIn(list).filter((item) => this.#dom.isElement(item) && getComputedStyle(item).display !== 'none').map((item) => {
      const sign = tag === 'ol' ? `${number}. ` : '- ';
      number += 1;
      const text = this.#blocks(item, style, depth + 1).join('\n');
      return text && sign + text.replace(/\n/g, `\n${' '.repeat(sign.length)}`);
    });
    const text = items.filter(Boolean).join('\n');
    return text ? [text] : [];
  }

  /** @param {any} table @param {ReadingStyle} style @param {number} depth @returns {string[]} */
  #table(table, style, depth) {
    const rows = Array.from(Element.prototype.querySelectorAll.call(table, 'tr'))
      .filter((row) => this.#dom.closest(row, 'table') === table && this.#dom.isVisible(row));
    const cells = rows.map((row) => this.#cells(row, style, depth));
    const width = Math.max(0, ...cells.map(({ length }) => length));
    // One column, or tables in a table, are a way to place things.
    if (width < 2 || Element.prototype.querySelector.call(table, 'table')) return this.#blocks(table, style, depth);
    const written = cells.map((row) => `| ${[...row, ...Array(width - row.length).fill('')].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
    const caption = /** @type {any} */ (Element.prototype.querySelector.call(table, 'caption'));
    const title = caption ? [this.#oneLine(caption, style, depth)] : [];
    return [...title, [written[0], `|${' --- |'.repeat(width)}`, ...written.slice(1)].join('\n')];
  }

  /** @param {any} row @param {ReadingStyle} style @param {number} depth @returns {string[]} */
  #cells(row, style, depth) {
    return this.#dom.shownIn(row).filter((cell) => this.#dom.isElement(cell) && getComputedStyle(cell).display !== 'none').flatMap((cell) => {
      const span = Math.min(Math.max(Number(this.#dom.attribute(cell, 'colspan') ?? 1) || 1, 1), 50);
      return [this.#oneLine(cell, style, depth), ...Array(style.isMarkdown ? span - 1 : 0).fill('')];
    });
  }

  /** As it is written, without the values and texts of secret fields. @param {any} element @returns {string} */
  html(element) {
    let html = this.#dom.html(element);
    const fields = [element, ...this.#dom.roots().flatMap((root) => this.#dom.select(root, 'input, textarea, [contenteditable]'))];
    for (const field of fields) {
      const [value, content] = [this.#dom.attribute(field, 'value'), this.#dom.innerHtml(field)];
      if (!(value || content) || !this.#dom.holds(element, field) || !this.#accessible.isSecret(field)) continue;
      if (value) html = html.replaceAll(` value="${this.#escaped(value)}"`, ' value="[redacted]"');
      if (content) html = html.replaceAll(`>${content}</`, '>[redacted]</');
    }
    return this.#words.block(html);
  }

  /** @param {string} value as the browser writes it in an attribute */
  #escaped(value) {
    return value.replaceAll('&', '&amp;').replaceAll('\u00a0', '&nbsp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  }

  /** The entered or chosen value. @param {any} element @param {number} most characters @returns {object} */
  value(element, most) {
    const tag = this.#dom.tag(element);
    const role = this.#accessible.role(element);
    const checked = this.#accessible.checked(element, role);
    if (tag === 'select') {
      const all = Array.from(/** @type {HTMLOptionElement[]} */ (element.options ?? []));
      const options = all.slice(0, 200).map(({ label, value, selected, disabled }) => ({ label: this.#words.head(label, PageReader.#OPTION_MAX), ...(value !== label && { value: this.#words.head(value, PageReader.#OPTION_MAX) }), ...(selected && { selected }), ...(disabled && { disabled }) }));
      return { value: this.#accessible.value(element, role) ?? options.filter(({ selected }) => selected).map(({ label }) => label), options, ...(all.length > 200 && { more_options: all.length - 200 }) };
    }
    if (checked !== null) return { checked: checked === 'true' ? true : checked === 'mixed' ? 'mixed' : false };
    const value = tag === 'input' && element.type !== 'file' || tag === 'textarea' || this.#dom.isEdited(element) ? this.#accessible.entered(element) ?? '' : this.#accessible.value(element, role);
    return value === undefined ? {} : { value: this.#words.head(this.#words.block(value), most), ...(value.length > most && { is_cut: true }) };
  }

  /** @param {any} element @param {string[] | undefined} names absent: all @returns {Record<string, string | null>} */
  attributes(element, names) {
    const told = Object.create(null);
    const isSecret = this.#accessible.isSecret(element);
    for (const name of names ?? this.#dom.attributeNames(element).slice(0, 100)) {
      const value = this.#dom.attribute(element, name);
      told[name] = value === null ? null : isSecret && name.toLowerCase() === 'value' ? '[redacted]' : this.#words.shown(value, 2_000);
    }
    return { ...told };
  }
}
