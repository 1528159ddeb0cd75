// @ts-check
// The fields of a document, form by form: as a person calls them, with their values, their limits and the errors in
// them. A classic script.

/**
 * @typedef {object} ReadField
 * @property {number} id
 * @property {string} label
 * @property {string} type
 * @property {string | boolean | string[]} [value] as `fill_form` takes it; of a secret only that there is one
 * @property {string[]} [options]
 * @property {number} [more_options]
 * @property {true} [required]
 * @property {string} [invalid] the browser's own message, or the page's
 * @property {true} [disabled]
 * @property {true} [readonly]
 *
 * @typedef {object} ReadForm
 * @property {number} [id] absent: these fields are in no form
 * @property {string} [name]
 * @property {ReadField[]} fields
 * @property {number} hidden fields that no person sees
 * @property {{id: number, name: string}} [submit]
 */

class FormReader {
  static #FIELDS = 'input, select, textarea, [contenteditable], [role=textbox], [role=searchbox], [role=combobox], [role=spinbutton], [role=slider], [role=checkbox], [role=switch], [role=radio], [role=listbox]';
  static #NO_FIELDS = new Set(['button', 'submit', 'reset', 'image', 'hidden']);
  static #NATIVE = new Set(['input', 'select', 'textarea']);
  static #LIMITS = ['min', 'max', 'step', 'minlength', 'maxlength', 'pattern', 'accept'];
  /** Nobody fills in more of one document, and each takes the page time. */
  static #FIELDS_MAX = 1_000;
  static #OPTIONS_MAX = 20;
  #validity = FormReader.#getters('validity');
  #message = FormReader.#getters('validationMessage');
  #dom;
  #accessible;
  #tree;
  #finder;
  #fields;
  #words;

  /** By tag: a page can redefine them in its own world alone. @param {string} name @returns {Record<string, (field: any) => any>} */
  static #getters(name) {
    const interfaces = { input: HTMLInputElement, select: HTMLSelectElement, textarea: HTMLTextAreaElement };
    return Object.fromEntries(Object.entries(interfaces).map(([tag, { prototype }]) => {
      const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(prototype, name));
      return [tag, (/** @type {any} */ field) => get.call(field)];
    }));
  }

  /** @param {PageDom} dom @param {Accessible} accessible @param {AccessibleTree} tree @param {TargetFinder} finder @param {FieldEditor} fields @param {PageWords} words */
  constructor(dom, accessible, tree, finder, fields, words) {
    this.#dom = dom;
    this.#accessible = accessible;
    this.#tree = tree;
    this.#finder = finder;
    this.#fields = fields;
    this.#words = words;
  }

  /** @param {any} root an element: the fields in it @returns {{forms: ReadForm[], left: number}} `left`: fields that were not read */
  read(root) {
    /** @type {Map<any, {fields: any[], hidden: number}>} */
    const found = new Map();
    let count = 0;
    let left = 0;
    for (const field of this.#dom.roots().flatMap((one) => this.#dom.select(one, FormReader.#FIELDS))) {
      if (!this.#isField(field) || !this.#dom.holds(root, field)) continue;
      const form = this.#dom.formOf(field) ?? null;
      const known = found.get(form) ?? { fields: [], hidden: 0 };
      found.set(form, known);
      if (!this.#isUsed(field)) known.hidden += 1;
      else if (count >= FormReader.#FIELDS_MAX) left += 1;
      else known.fields.push(field);
      count += 1;
    }
    const forms = [...found].map(([form, known]) => this.#form(form, known));
    return { forms: forms.filter(({ fields, hidden }) => fields.length > 0 || hidden > 0), left };
  }

  /** @param {any} field @returns {boolean} */
  #isField(field) {
    const tag = this.#dom.tag(field);
    if (tag === 'input') return !FormReader.#NO_FIELDS.has(field.type);
    if (FormReader.#NATIVE.has(tag)) return true;
    const around = this.#dom.shownParent(field);
    if (this.#dom.has(field, 'contenteditable')) return this.#dom.isEdited(field) && !(around && this.#dom.isEdited(around));
    // A field of the browser in one that the page has made is the one that is filled.
    return !this.#dom.inside(field, 'input, select, textarea').some((inner) => this.#isField(inner));
  }

  /** Whether a person sees it, or the label that stands for it. @param {any} field */
  #isUsed(field) {
    if (this.#dom.isVisible(field)) return true;
    const isDrawnElsewhere = this.#dom.tag(field) === 'input' && ['checkbox', 'radio', 'file'].includes(field.type);
    return isDrawnElsewhere && this.#dom.labelsOf(field).some((label) => this.#dom.isVisible(label));
  }

  /** @param {any} form @param {{fields: any[], hidden: number}} known @returns {ReadForm} */
  #form(form, { fields, hidden }) {
    const read = this.#grouped(fields).map((group) => this.#field(group));
    if (form === null) return { fields: read, hidden };
    const { id } = this.#finder.describe(form);
    const name = this.#tree.name(form, 'form') || this.#dom.attribute(form, 'name') || this.#dom.attribute(form, 'id') || '';
    const { button } = fields.length > 0 ? this.#fields.submitter(fields[0]) : { button: undefined };
    return { id, ...(name && { name: this.#words.shown(name, 100) }), fields: read, hidden, ...(button && { submit: { id: button.id, name: button.name } }) };
  }

  /** Radio buttons of one group are one field. @param {any[]} fields @returns {any[][]} */
  #grouped(fields) {
    /** @type {any[][]} */
    const groups = [];
    /** @type {Map<string, any[]>} */
    const radios = new Map();
    for (const field of fields) {
      const name = this.#dom.tag(field) === 'input' && field.type === 'radio' ? String(field.name) : '';
      const known = name === '' ? undefined : radios.get(name);
      if (known && this.#dom.root(known[0]) === this.#dom.root(field)) {
        known.push(field);
        continue;
      }
      const group = [field];
      groups.push(group);
      if (name !== '') radios.set(name, group);
    }
    return groups;
  }

  /** @param {any[]} group @returns {ReadField} */
  #field(group) {
    const [field] = group;
    const tag = this.#dom.tag(field);
    const { id, name } = this.#finder.describe(group.find((one) => one.checked === true) ?? field);
    const role = this.#accessible.role(field);
    const native = FormReader.#NATIVE.has(tag) ? String(field.type) : this.#dom.isEdited(field) ? 'editor' : role;
    const states = this.#accessible.states(field, role);
    const has = (/** @type {string} */ state) => states.includes(state);
    const limits = FormReader.#LIMITS.flatMap((limit) => {
      const value = FormReader.#NATIVE.has(tag) ? this.#dom.attribute(field, limit) : null;
      return value ? [[limit, this.#words.shown(value, 80)]] : [];
    });
    const invalid = group.map((one) => this.#refusal(one, tag)).find(Boolean);
    const isRadio = group.length > 1 || native === 'radio';
    return {
      id, label: isRadio ? this.#groupName(field) || this.#words.shown(String(field.name), 80) || name : name, type: native, ...(isRadio ? this.#choices(group) : this.#value(field, tag, role)),
      ...Object.fromEntries(limits), ...((has('required') || group.some((one) => one.required === true)) && { required: true }), ...(invalid && { invalid }),
      ...(has('disabled') && { disabled: true }), ...(has('readonly') && { readonly: true }),
    };
  }

  /** @param {any} radio @returns {string} of the set that it is in */
  #groupName(radio) {
    const around = this.#dom.closest(radio, 'fieldset, [role=radiogroup], [role=group]');
    return around ? this.#tree.name(around) : '';
  }

  /** @param {any[]} radios @returns {{options?: string[], more_options?: number, value?: string | boolean}} */
  #choices(radios) {
    const label = (/** @type {any} */ radio) => this.#finder.describe(radio).name;
    const isChecked = (/** @type {any} */ radio) => this.#accessible.checked(radio, 'radio') === 'true';
    if (radios.length === 1) return { value: isChecked(radios[0]) };
    const chosen = radios.find(isChecked);
    return { ...this.#options(radios.map(label)), ...(chosen && { value: label(chosen) }) };
  }

  /** @param {string[]} labels */
  #options(labels) {
    const left = labels.length - FormReader.#OPTIONS_MAX;
    return { options: labels.slice(0, FormReader.#OPTIONS_MAX), ...(left > 0 && { more_options: left }) };
  }

  /** @param {any} field @param {string} tag @param {string} role @returns {{value?: string | boolean | string[], options?: string[]}} */
  #value(field, tag, role) {
    const checked = this.#accessible.checked(field, role);
    if (checked !== null) return { value: checked === 'mixed' ? 'mixed' : checked === 'true' };
    if (tag !== 'select') {
      const value = this.#accessible.value(field, role);
      return value === undefined ? {} : { value };
    }
    const options = this.#dom.inside(field, 'option');
    const label = (/** @type {any} */ option) => this.#words.shown(String(option.label), 80);
    const chosen = options.filter(({ selected }) => selected);
    const isHidden = this.#accessible.isSecret(field) && chosen.length > 0;
    const value = isHidden ? '[redacted]' : field.multiple ? chosen.slice(0, FormReader.#OPTIONS_MAX).map(label) : chosen.length > 0 ? label(chosen[0]) : '';
    return { ...this.#options(options.map(label)), value };
  }

  /** Why the browser or the page refuses what is entered. @param {any} field @param {string} tag @returns {string | undefined} */
  #refusal(field, tag) {
    const validity = FormReader.#NATIVE.has(tag) && field.willValidate ? this.#validity[tag](field) : null;
    if (validity && !validity.valid) {
      // Its message repeats what was entered.
      const isShown = validity.valueMissing || !this.#accessible.isSecret(field);
      return (isShown && this.#words.shown(this.#message[tag](field), 200)) || 'the browser refuses it';
    }
    const aria = this.#dom.attribute(field, 'aria-invalid');
    if (aria === null || aria === 'false') return undefined;
    const ids = (this.#dom.attribute(field, 'aria-errormessage') ?? this.#dom.attribute(field, 'aria-describedby') ?? '').split(/\s+/).filter(Boolean);
    const said = ids.flatMap((id) => this.#dom.byId(field, id) ?? []).map((/** @type {any} */ one) => this.#dom.textOf(one)).join(' ');
    return this.#words.shown(said, 200) || 'the page marks it as invalid';
  }
}
