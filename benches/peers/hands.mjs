// What an agent does with each server, by that server's own tools: it looks, names elements as its last look named them, and acts.
import { shown } from './mcp_client.mjs';

/** @import {McpClient} from './mcp_client.mjs' */

/** @typedef {[tool: string, args: object]} ToolCall */
/** @typedef {{target: string, kind: 'textbox' | 'combobox' | 'checkbox', value: string}} FieldEntry `target`: role and name */

/**
 * @typedef {object} Dialect how a server is told to do things; elements are named by refs
 * @property {(url: string) => ToolCall} open
 * @property {(script: string) => ToolCall} read the value of an expression
 * @property {ToolCall} look
 * @property {ToolCall[]} [record] records requests and log lines from now on, where a server does not do so for each page by itself
 * @property {RegExp} ref the ref in the line of an element
 * @property {(ref: string) => string} [named] the ref as calls have it
 * @property {(ref: string) => ToolCall} click
 * @property {(ref: string) => ToolCall} [clickAndLook] a click whose answer tells of the page, too
 * @property {(ref: string) => ToolCall} hover
 * @property {(ref: string, text: string) => ToolCall[]} type
 * @property {(key: string) => ToolCall} press
 * @property {(from: string, to: string) => ToolCall} drag
 * @property {(fields: (FieldEntry & {ref: string})[]) => ToolCall} fill
 * @property {(text: string) => ToolCall} waitForText
 * @property {((x: number, y: number) => ToolCall[]) | null} clickAt
 * @property {((ref: string, text: string) => ToolCall) | null} scrollUntil
 */

/** @type {Record<string, Dialect>} */
export const DIALECTS = {
  tabwire: {
    open: (url) => ['navigate', { url }],
    read: (script) => ['execute_js', { script }],
    look: ['snapshot', {}],
    record: [['configure', { action: 'capture' }]],
    ref: / ([a-z]{1,3}\d+)(?=[ :"]|$)/,
    clickAndLook: (target) => ['click', { target, snapshot: 'diff' }],
    click: (target) => ['click', { target }],
    hover: (target) => ['hover', { target }],
    type: (target, text) => [['type', { target, text }]],
    press: (key) => ['press_key', { key }],
    drag: (startTarget, endTarget) => ['drag', { startTarget, endTarget }],
    fill: (fields) => ['fill_form', { fields: fields.map(({ ref, value }) => ({ target: ref, value })) }],
    waitForText: (text) => ['wait_for', { text }],
    clickAt: (x, y) => [['click', { x, y }]],
    scrollUntil: (target, text) => ['scroll', { target, until_text: text }],
  },
  'chrome-devtools-mcp': {
    open: (url) => ['navigate_page', { pageId: 1, type: 'url', url }],
    read: (script) => ['evaluate_script', { pageId: 1, function: `() => (${script})` }],
    look: ['take_snapshot', { pageId: 1 }],
    ref: /uid=(\S+)/,
    clickAndLook: (uid) => ['click', { pageId: 1, uid, includeSnapshot: true }],
    click: (uid) => ['click', { pageId: 1, uid }],
    hover: (uid) => ['hover', { pageId: 1, uid }],
    type: (uid, text) => [['click', { pageId: 1, uid }], ['type_text', { pageId: 1, text }]],
    press: (key) => ['press_key', { pageId: 1, key }],
    drag: (from, to) => ['drag', { pageId: 1, from_uid: from, to_uid: to }],
    fill: (fields) => ['fill_form', { pageId: 1, elements: fields.map(({ ref, value }) => ({ uid: ref, value })) }],
    waitForText: (text) => ['wait_for', { pageId: 1, text: [text] }],
    clickAt: null,
    scrollUntil: null,
  },
  '@playwright/mcp': {
    open: (url) => ['browser_navigate', { url }],
    read: (script) => ['browser_evaluate', { function: `() => (${script})` }],
    look: ['browser_snapshot', {}],
    ref: /\[ref=(\w+)\]/,
    click: (target) => ['browser_click', { target }],
    hover: (target) => ['browser_hover', { target }],
    // Key by key: else the text is put in at once, and the page hears of no keys.
    type: (target, text) => [['browser_type', { target, text, slowly: true }]],
    press: (key) => ['browser_press_key', { key }],
    drag: (startTarget, endTarget) => ['browser_drag', { startTarget, startElement: 'start', endTarget, endElement: 'end' }],
    fill: (fields) => ['browser_fill_form', { fields: fields.map(({ ref, target, kind, value }) => ({ element: target, name: target, target: ref, type: kind, value })) }],
    waitForText: (text) => ['browser_wait_for', { text }],
    clickAt: (x, y) => [['browser_mouse_click_xy', { x, y }]],
    scrollUntil: null,
  },
  'agent-browser': {
    open: (url) => ['agent_browser_open', { url }],
    read: (script) => ['agent_browser_eval', { script }],
    look: ['agent_browser_snapshot', {}],
    record: [['agent_browser_network_requests', { clear: true }], ['agent_browser_console', { clear: true }]],
    ref: /\bref=(e\d+)/,
    named: (ref) => `@${ref}`,
    click: (selector) => ['agent_browser_click', { selector }],
    hover: (selector) => ['agent_browser_hover', { selector }],
    type: (selector, text) => [['agent_browser_type', { selector, text }]],
    press: (key) => ['agent_browser_press', { key }],
    drag: (source, target) => ['agent_browser_drag', { source, target }],
    fill: (fields) => ['agent_browser_batch', { commands: fields.map(({ ref, kind, value }) => (kind === 'checkbox' ? ['check', ref] : [kind === 'combobox' ? 'select' : 'fill', ref, value])) }],
    waitForText: (text) => ['agent_browser_wait_for_text', { text }],
    clickAt: (x, y) => [['agent_browser_mouse_move', { x, y }], ['agent_browser_mouse_down', {}], ['agent_browser_mouse_up', {}]],
    scrollUntil: null,
  },
};

/** Something that a server has no tool for. */
export class NoTool extends Error {}

/** Counts its calls and the bytes of their answers. */
export class TaskHands {
  #client;
  #dialect;
  #seen = '';
  calls = 0;
  bytes = 0;
  ms = 0;

  /** @param {McpClient} client @param {string} server */
  constructor(client, server) {
    this.#client = client;
    this.#dialect = DIALECTS[server];
  }

  /** @param {ToolCall} call */
  async #call([tool, args]) {
    const began = performance.now();
    const answer = shown(await this.#client.call(tool, args));
    this.ms += performance.now() - began;
    this.calls += 1;
    this.bytes += Buffer.byteLength(answer);
    return answer;
  }

  /** @param {ToolCall[]} calls */
  async #callAll(calls) {
    for (const call of calls) await this.#call(call);
  }

  /** @param {string} url */
  async open(url) {
    this.#seen = '';
    // A page that never finishes loading can be used all the same.
    await this.#call(this.#dialect.open(url)).catch(() => { this.calls += 1; });
  }

  async look() {
    // Some answers are JSON.
    this.#seen = (await this.#call(this.#dialect.look)).replaceAll('\\n', '\n').replaceAll('\\"', '"');
    return this.#seen;
  }

  /** @param {string} target role and name @param {number} place among those of that role and name @returns {Promise<string>} its ref, which takes a look if it has not been seen */
  async #find(target, place = 0) {
    const { ref, named } = this.#dialect;
    for (const mayLook of [true, false]) {
      const line = this.#seen.split('\n').filter((text) => text.includes(target) && ref.test(text))[place];
      const found = line && (ref.exec(line.slice(line.indexOf(target))) ?? ref.exec(line))?.[1];
      if (found) return named?.(found) ?? found;
      if (mayLook) await this.look();
    }
    throw new Error(`its snapshot has no ${target}`);
  }

  /** @template T @param {T | null | undefined} tool @param {string} name @returns {T} */
  #tool(tool, name) {
    if (!tool) throw new NoTool(`no tool to ${name}`);
    return tool;
  }

  /** @param {string} target @param {number} [place] */
  async click(target, place) {
    await this.#call(this.#dialect.click(await this.#find(target, place)));
  }

  /** Clicks, and sees the page after it. @param {string} target @param {number} [place] */
  async clickAndLook(target, place) {
    const ref = await this.#find(target, place);
    if (this.#dialect.clickAndLook) await this.#call(this.#dialect.clickAndLook(ref));
    else await this.#callAll([this.#dialect.click(ref), this.#dialect.look]);
  }

  /** @param {string} target */
  async hover(target) {
    await this.#call(this.#dialect.hover(await this.#find(target)));
  }

  /** @param {string} target @param {string} text by keys */
  async type(target, text) {
    await this.#callAll(this.#dialect.type(await this.#find(target), text));
  }

  /** @param {string} key */
  async press(key) {
    await this.#call(this.#dialect.press(key));
  }

  /** @param {string} from @param {string} to */
  async drag(from, to) {
    const start = await this.#find(from);
    await this.#call(this.#dialect.drag(start, await this.#find(to)));
  }

  /** @param {FieldEntry[]} fields */
  async fill(fields) {
    const found = [];
    for (const field of fields) found.push({ ...field, ref: await this.#find(field.target) });
    await this.#call(this.#dialect.fill(found));
  }

  /** @param {string} text */
  async waitForText(text) {
    await this.#call(this.#dialect.waitForText(text));
  }

  /** @param {number} x @param {number} y in the view */
  async clickAt(x, y) {
    await this.#callAll(this.#tool(this.#dialect.clickAt, 'click at a point')(x, y));
  }

  /** @param {string} target the list @param {string} text */
  async scrollUntil(target, text) {
    await this.#call(this.#tool(this.#dialect.scrollUntil, 'scroll until a text appears')(await this.#find(target), text));
  }

  /** Looks by a script, which is not counted. @param {string} condition @returns {Promise<boolean>} */
  async holds(condition) {
    const answer = shown(await this.#client.call(...this.#dialect.read(`(${condition}) ? 'it ' + 'holds' : 'not yet'`)));
    return answer.includes('it holds');
  }
}
