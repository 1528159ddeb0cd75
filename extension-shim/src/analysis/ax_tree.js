// @ts-check
// From the browser's accessibility nodes to lines that a model reads: a node a line, indented by its depth.
// Names come from the page: they are quoted as JSON strings, so none can pass for a line of its own.

import { clip } from '../lib/clip.js';

/**
 * @typedef {object} AxNode as the protocol has it
 * @property {string} nodeId
 * @property {boolean} ignored
 * @property {{value?: string}} [role]
 * @property {{value?: unknown}} [name]
 * @property {{value?: unknown}} [description]
 * @property {{value?: unknown}} [value]
 * @property {{name: string, value: {value?: unknown}}[]} [properties]
 * @property {string[]} [childIds]
 * @property {number} [backendDOMNodeId]
 *
 * @typedef {object} Bounds
 * @property {number} depth levels of lines
 * @property {number} lines
 * @property {number} text characters of one name
 */

/** Roles without a meaning of their own; their children stand in their place. */
const LIFTED = new Set(['generic', 'form', 'none', 'LabelText', 'MenuListPopup', 'LineBreak', 'ListMarker', 'LayoutTable', 'LayoutTableRow', 'LayoutTableCell']);
/** Of these roles, those that mean something once they have a name. */
const SHOWN_IF_NAMED = new Set(['generic', 'form']);
const RENAMED = /** @type {Record<string, string>} */ ({ RootWebArea: 'document', StaticText: 'text', Iframe: 'frame', IframePresentational: 'frame' });
/** Their name stands for the text in them. */
const NAMED = new Set(['button', 'tab', 'option', 'menuitem', 'checkbox', 'radio', 'switch', 'textbox', 'searchbox', 'spinbutton', 'combobox']);
/** Shown only if true. */
const FLAGS = ['focused', 'disabled', 'required', 'readonly', 'selected', 'modal', 'multiselectable', 'busy'];
const VALUES = ['level', 'checked', 'pressed', 'expanded', 'invalid', 'hasPopup', 'valuetext'];

/** @typedef {{tree: AxTree, node: AxNode}} TreeNode a node, and the tree of the document that it is in */

export class AxTree {
  /** @type {Map<string, AxNode>} */
  #nodes = new Map();
  /** @type {Map<number, AxTree>} the documents in frames, by the frame's DOM node */
  #frames = new Map();
  /** The names of controls. @type {Set<string>} */
  #named;
  /** The DOM nodes of fields that hold secrets. @type {Set<number>} */
  #secret;

  /** @param {AxNode[]} nodes of a document or a part of it, in its order @param {Set<number>} [secret] the DOM nodes of fields that hold secrets */
  constructor(nodes, secret = new Set()) {
    this.#secret = secret;
    for (const node of nodes) this.#nodes.set(node.nodeId, node);
    const controls = nodes.filter(({ ignored, role }) => !ignored && NAMED.has(role?.value ?? ''));
    this.#named = new Set(controls.map(({ name }) => withoutSpaces(name?.value)));
  }

  /** The DOM nodes of the frames in it. @returns {number[]} */
  frames() {
    return Array.from(this.#nodes.values()).flatMap(({ role, backendDOMNodeId }) =>
      (/^Iframe/.test(role?.value ?? '') && backendDOMNodeId !== undefined ? [backendDOMNodeId] : []));
  }

  /** @param {number} domNode @param {AxTree} tree */
  fill(domNode, tree) {
    this.#frames.set(domNode, tree);
  }

  /**
   * @param {Bounds} bounds
   * @returns {{tree: string, nodes: number, not_shown?: number}} `not_shown`: those that were left out with all in them
   */
  render(bounds) {
    const out = { lines: /** @type {string[]} */ ([]), left: 0 };
    for (const place of this.#uppermost().flatMap(shown)) write(place, 0, '', bounds, out);
    return { tree: out.lines.join('\n'), nodes: out.lines.length, ...(out.left > 0 && { not_shown: out.left }) };
  }

  /** Of a part of a page there may be several. @returns {TreeNode[]} */
  #uppermost() {
    const inOthers = new Set(Array.from(this.#nodes.values()).flatMap(({ childIds }) => childIds ?? []));
    return Array.from(this.#nodes.values()).filter(({ nodeId }) => !inOthers.has(nodeId)).map((node) => ({ tree: this, node }));
  }

  /** @param {string} text @returns {boolean} whether a control has this name */
  hasControl(text) {
    return this.#named.has(withoutSpaces(text));
  }

  /** Whether the field holds a secret. @param {AxNode} node */
  isSecret(node) {
    return this.#secret.has(node.backendDOMNodeId ?? -1);
  }

  /** @param {AxNode} node @returns {TreeNode[]} */
  below(node) {
    if (this.isSecret(node)) return [];
    const inFrame = this.#frames.get(node.backendDOMNodeId ?? -1);
    if (inFrame) return inFrame.#uppermost();
    return (node.childIds ?? []).flatMap((id) => {
      const child = this.#nodes.get(id);
      return child ? [{ tree: this, node: child }] : [];
    });
  }
}

/** A node, or the nodes that stand in the place of a meaningless one. @param {TreeNode} place @returns {TreeNode[]} */
function shown(place) {
  return shownIn(place, false);
}

/** @param {TreeNode} start @param {boolean} inLabel whether it stands in a label already @returns {TreeNode[]} */
function shownIn(start, inLabel) {
  /** @type {TreeNode[]} */
  const found = [];
  const stack = [start]; // Pages nest without end, and calls do not.
  for (let place = stack.pop(); place; place = stack.pop()) {
    const { ignored, role, name } = place.node;
    if (role?.value === 'InlineTextBox') continue;
    const isShown = !ignored && (!LIFTED.has(role?.value ?? '') || (SHOWN_IF_NAMED.has(role?.value ?? '') && oneLine(name?.value) !== ''));
    if (isShown) found.push(place);
    else if (role?.value === 'LabelText' && !inLabel) found.push(...labelled(place));
    else stack.push(...place.tree.below(place.node).reverse());
  }
  return found;
}

/** The content of a label, without a text that its control has as its name already. @param {TreeNode} label @returns {TreeNode[]} */
function labelled({ tree, node }) {
  const found = tree.below(node).flatMap((place) => shownIn(place, true));
  const text = found.filter(isText).map((place) => oneLine(place.node.name?.value)).join(' ');
  return tree.hasControl(text) ? found.filter((place) => !isText(place)) : found;
}

/**
 * @param {TreeNode} place @param {number} depth @param {string} above the name of the line above
 * @param {Bounds} bounds @param {{lines: string[], left: number}} out
 */
function write({ tree, node }, depth, above, bounds, out) {
  const name = oneLine(node.name?.value);
  const role = node.role?.value ?? '';
  // The text of a link is its name already.
  if (role === 'StaticText' && above.includes(name)) return;
  if (depth >= bounds.depth || out.lines.length >= bounds.lines) {
    out.left += 1;
    return;
  }
  const below = tree.below(node).flatMap(shown).filter((child) => !(NAMED.has(role) && name && isText(child)));
  const text = !name && below.length > 0 && below.every(isText) ? below.map(({ node: one }) => oneLine(one.name?.value)).join(' ') : '';
  out.lines.push('  '.repeat(depth) + line(tree.isSecret(node) ? withoutValue(node) : node, name, text, bounds.text));
  if (!text) for (const child of below) write(child, depth + 1, name, bounds, out);
}

/** @param {TreeNode} place */
function isText({ node }) {
  return node.role?.value === 'StaticText';
}

/** @param {AxNode} node @returns {AxNode} */
function withoutValue({ value, properties, ...rest }) {
  const told = (properties ?? []).filter(({ name }) => name !== 'valuetext');
  return { ...rest, properties: told, ...(oneLine(value?.value) && { value: { value: '(not shown)' } }) };
}

/** @param {AxNode} node @param {string} name @param {string} text all that is in it @param {number} most */
function line(node, name, text, most) {
  const quoted = (/** @type {string} */ all) => JSON.stringify(clip(all, most));
  const role = node.role?.value ?? '';
  const value = oneLine(node.value?.value);
  const description = oneLine(node.description?.value);
  const states = statesOf(role, node.properties ?? []);
  return [
    (RENAMED[role] ?? role) + (text && `: ${quoted(text)}`),
    name && quoted(name),
    states.length > 0 && `[${states.join(', ')}]`,
    value && value !== name && `value=${quoted(value)}`,
    description && description !== name && `description=${quoted(description)}`,
  ].filter(Boolean).join(' ');
}

/** @param {string} role @param {{name: string, value: {value?: unknown}}[]} properties @returns {string[]} */
function statesOf(role, properties) {
  const states = new Map(properties.map(({ name, value }) => [name, value.value]));
  const flags = FLAGS.filter((name) => states.get(name) === true);
  const values = VALUES.flatMap((name) => {
    const value = states.get(name);
    const saysNothing = value === undefined || value === '' || (name === 'invalid' && value === 'false') || (name === 'level' && role !== 'heading');
    if (saysNothing) return [];
    return [`${name}=${name === 'valuetext' ? JSON.stringify(oneLine(value)) : value}`];
  });
  return [...flags, ...values];
}

/** @param {unknown} text */
function oneLine(text) {
  return text === undefined || text === null ? '' : String(text).replace(/\s+/g, ' ').trim();
}

/** Where a name has spaces, the texts that it is made of need not. @param {unknown} text */
function withoutSpaces(text) {
  return String(text ?? '').replace(/\s+/g, '');
}
