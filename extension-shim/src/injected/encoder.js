// @ts-check
// Turns any value into JSON without losing what it was. Runs inside the page: its source text is sent
// along with the script, so it may use only itself, `clip` and the globals of every page.

import { clip } from '../lib/clip.js';

/**
 * Top level: `{type, value}`. Nested values that JSON has are left as they are; all others become
 * `{$type, value}`.
 */
export class Encoder {
  /** Whether it gave up because more came out than there is room for. */
  full = false;
  #maxDepth = 20;
  #asIs = ['null', 'boolean', 'number', 'string', 'array', 'object'];
  /** @type {unknown[]} the objects that contain what is encoded now */
  #around = [];
  /** @type {string[]} how to get from each to the next */
  #path = ['$'];
  #room;

  /** @param {number} room about how many characters of JSON may come out */
  constructor(room) {
    this.#room = room;
  }

  /** @param {any} value @returns {{type: string, value: any}} throws when `full` */
  encode(value) {
    const type = this.kind(value);
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
      return { type, value: this.#primitive(type, value) };
    }
    const at = this.#around.indexOf(value);
    if (at >= 0) return { type: 'cycle', value: this.#path.slice(0, at + 1).join('') };
    if (this.#around.length >= this.#maxDepth) return { type: 'truncated', value: `deeper than ${this.#maxDepth}` };
    this.#around.push(value);
    try {
      const out = this.#object(type, value);
      return { type: type === 'object' && Array.isArray(out) ? 'array' : type, value: out };
    } finally {
      this.#around.pop();
    }
  }

  /** @param {any} value */
  kind(value) {
    if (value === null) return 'null';
    if (typeof value === 'number') return this.#numberKind(value);
    if (typeof value !== 'object') return typeof value;
    if (Array.isArray(value)) return 'array';
    if (this.#isWindow(value)) return 'window';
    if (ArrayBuffer.isView(value)) return 'typed_array';
    if (typeof Node === 'function' && value instanceof Node) return 'node';
    if (value instanceof Error) return 'error';
    const tag = this.tag(value);
    const kinds = ['Date', 'RegExp', 'Map', 'Set', 'Error', 'Promise'];
    if (tag === 'ArrayBuffer') return 'array_buffer';
    return kinds.includes(tag) ? tag.toLowerCase() : 'object';
  }

  /** @param {any} value */
  tag(value) {
    return Object.prototype.toString.call(value).slice(8, -1);
  }

  /** @param {number} value */
  #numberKind(value) {
    if (Number.isNaN(value)) return 'nan';
    if (value === Infinity) return 'infinity';
    if (value === -Infinity) return 'negative_infinity';
    return Object.is(value, -0) ? 'negative_zero' : 'number';
  }

  /** Windows of other origins answer to almost nothing; this they do. @param {any} value */
  #isWindow(value) {
    try {
      return typeof value.window === 'object' && value.window !== null && value.window === value;
    } catch {
      return false;
    }
  }

  /** @param {string} type @param {any} value */
  #primitive(type, value) {
    if (type === 'string') return this.#spend(value.length + 2, value);
    if (type === 'undefined') return this.#spend(4, null);
    if (['null', 'boolean', 'number'].includes(type)) return this.#spend(4, value);
    const text = type === 'negative_zero' ? '-0' : String(value);
    return this.#spend(text.length + 24, text);
  }

  /** @param {string} type @param {any} value */
  #object(type, value) {
    this.#spend(2);
    switch (type) {
      case 'array': return this.#items(value, value.length);
      case 'date': return this.#text(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
      case 'regexp': return this.#text(String(value));
      case 'function': return this.#text(clip(Function.prototype.toString.call(value), 200));
      case 'map': return this.#items([...value]);
      case 'set': return this.#items([...value]);
      case 'error': return this.#properties({ name: value.name, message: value.message, stack: value.stack });
      case 'node': return this.#node(value);
      case 'typed_array': return this.#typedArray(value);
      case 'array_buffer': return { byte_length: value.byteLength };
      case 'promise': return null;
      case 'window': return this.#window(value);
      default: return this.#plainOrPlatform(value);
    }
  }

  /** @param {any} value @param {string} [step] how its container reaches it */
  #nest(value, step = '') {
    this.#path.push(step);
    try {
      const { type, value: inner } = this.encode(value);
      const ambiguous = type === 'object' && Object.hasOwn(Object(inner), '$type');
      const asIs = this.#asIs.includes(type) && !ambiguous;
      return asIs ? inner : { __proto__: null, $type: type, value: inner };
    } catch (error) {
      if (this.full) throw error;
      return { __proto__: null, $type: 'unreadable', value: clip(String(error), 200) };
    } finally {
      this.#path.pop();
    }
  }

  /** @param {ArrayLike<any>} items @param {number} [length] */
  #items(items, length = items.length) {
    const out = [];
    for (let i = 0; i < length; i += 1) out[i] = this.#nest(items[i], `[${i}]`);
    return out;
  }

  /** @param {any} value */
  #plainOrPlatform(value) {
    if (typeof value.toJSON === 'function') return this.#nest(value.toJSON());
    const proto = Object.getPrototypeOf(value);
    const isPlain = proto === null || proto === Object.prototype;
    if (!isPlain && this.#isCollection(value)) return this.#items([...value]);
    const empty = Object.keys(value).length === 0;
    return empty && !isPlain ? `[object ${value.constructor?.name || this.tag(value)}]` : this.#properties(value);
  }

  /** NodeList, Headers and the like; an iterator is left alone, since reading would use it up. @param {any} value */
  #isCollection(value) {
    return typeof value[Symbol.iterator] === 'function' && typeof value.next !== 'function';
  }

  /** @param {any} value */
  #properties(value) {
    const out = Object.create(null);
    for (const key of Object.keys(value)) {
      this.#spend(key.length + 4);
      try {
        out[key] = this.#nest(value[key], `.${key}`);
      } catch (error) {
        if (this.full) throw error;
        out[key] = { __proto__: null, $type: 'unreadable', value: clip(String(error), 200) };
      }
    }
    return out;
  }

  /** Enough to recognise it and to find it again, never its whole subtree. @param {any} node */
  #node(node) {
    const out = Object.create(null);
    out.name = this.#text(node.nodeName.toLowerCase());
    if (node.nodeType === 9) out.url = this.#text(clip(node.URL, 2000));
    if (node.nodeType === 1) out.attributes = Object.create(null);
    for (const attribute of node.attributes ?? []) {
      out.attributes[attribute.name] = this.#text(clip(attribute.value, 200));
    }
    if (node.textContent !== null) out.text = this.#text(clip(node.textContent.trim(), 200));
    if (node.childElementCount !== undefined) out.children = node.childElementCount;
    return out;
  }

  /** @param {any} view */
  #typedArray(view) {
    const values = view.length === undefined ? null : this.#items(view);
    return { name: this.tag(view), length: view.length ?? view.byteLength, values };
  }

  /** @param {any} value */
  #window(value) {
    try {
      return this.#text(value.location.href);
    } catch {
      return 'of another origin';
    }
  }

  /** @param {string} text */
  #text(text) {
    return this.#spend(text.length + 2, text);
  }

  /** @template T @param {number} characters @param {T} [result] @returns {T | undefined} */
  #spend(characters, result) {
    this.#room -= characters;
    this.full = this.#room < 0;
    if (this.full) throw new RangeError('no room');
    return result;
  }
}
