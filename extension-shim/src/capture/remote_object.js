// @ts-check
// A value from the debugger as text, as a console shows it. Pure.

/**
 * @typedef {object} RemoteObject as the debugging protocol has it
 * @property {string} type
 * @property {string} [subtype]
 * @property {any} [value]
 * @property {string} [unserializableValue]
 * @property {string} [description]
 * @property {Preview} [preview]
 *
 * @typedef {object} Preview
 * @property {string} type
 * @property {string} [subtype]
 * @property {string} [description]
 * @property {boolean} overflow
 * @property {PropertyPreview[]} properties
 * @property {{key?: Preview, value: Preview}[]} [entries] of maps and sets
 *
 * @typedef {{name: string, type: string, subtype?: string, value?: string, valuePreview?: Preview}} PropertyPreview
 */

/** The description of these values is complete. */
const DESCRIBED = new Set(['date', 'error', 'node', 'promise', 'proxy', 'regexp']);

/** The arguments of a console call as its line. @param {RemoteObject[]} args @returns {string} */
export function lineOf(args) {
  const [first, ...rest] = args;
  if (first?.type !== 'string' || !first.value.includes('%')) return args.map(textOf).join(' ');
  return [formatted(first.value, rest), ...rest.map(textOf)].join(' ');
}

/** @param {RemoteObject} object @returns {string} */
export function textOf({ type, subtype, value, unserializableValue, description, preview }) {
  if (type === 'string') return value;
  if (unserializableValue) return unserializableValue;
  if (preview && !DESCRIBED.has(subtype ?? '')) return previewText(preview);
  if (subtype === 'null' || type === 'undefined') return subtype ?? type;
  return description ?? String(value);
}

/** Fills in %s and its kind, and takes what it has used from `rest`. @param {string} format @param {RemoteObject[]} rest */
function formatted(format, rest) {
  return format.replaceAll(/%[sdifoOc%]/g, (directive) => {
    if (directive === '%%') return '%';
    const used = rest.shift();
    if (!used) return directive;
    if (directive === '%c') return '';
    const text = textOf(used);
    if (directive === '%d' || directive === '%i') return String(Math.trunc(Number(text)));
    return directive === '%f' ? String(Number(text)) : text;
  });
}

/** @param {Preview} preview @returns {string} */
function previewText({ type, subtype, description, properties, entries, overflow }) {
  if (type !== 'object' || DESCRIBED.has(subtype ?? '')) return type === 'string' ? quoted(description) : description ?? type;
  if (subtype === 'null') return 'null';
  const parts = entries ? entries.map(entryText) : properties.map((property) => partText(property, isList(subtype)));
  if (overflow) parts.push('…');
  const inside = parts.join(', ');
  if (isList(subtype)) return subtype === 'array' ? `[${inside}]` : `${description} [${inside}]`;
  const name = description === 'Object' ? '' : `${description} `;
  return `${name}{${inside}}`;
}

/** @param {string | undefined} subtype */
function isList(subtype) {
  return subtype === 'array' || subtype === 'typedarray';
}

/** @param {{key?: Preview, value: Preview}} entry */
function entryText({ key, value }) {
  return key ? `${previewText(key)} => ${previewText(value)}` : previewText(value);
}

/** @param {PropertyPreview} property @param {boolean} inList @returns {string} */
function partText({ name, type, value, valuePreview }, inList) {
  let text = value ?? type;
  if (valuePreview) text = previewText(valuePreview);
  else if (type === 'string') text = quoted(value);
  else if (type === 'function') text = 'function';
  else if (type === 'object' && value === 'Object') text = '{…}';
  // A list may have other properties than its elements.
  return inList && /^\d+$/.test(name) ? text : `${name}: ${text}`;
}

/** @param {string | undefined} text */
function quoted(text = '') {
  return JSON.stringify(text);
}
