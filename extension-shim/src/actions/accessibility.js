// @ts-check
// The page as assistive technology has it: roles, names and states, computed by the browser itself.

/** @import {AxNode} from '../analysis/ax_tree.js' */
/** @import {Context, Outcome} from '../../types/protocol.js' */

import { AxTree } from '../analysis/ax_tree.js';
import { evaluateIsolated, readIsolated, withLook, wrongSelector } from '../analysis/isolated.js';
import { lookAtPage } from '../browser/attached_page.js';
import { cdp } from '../browser/debugger.js';
import { policy } from '../browser/state.js';
import { pdfNote } from '../browser/pdf_page.js';
import { checkedInteger, checkedText } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { originOf } from '../policy/pages.js';
import { AX_DEPTHS, AX_ELEMENTS, AX_FRAMES, AX_LEVELS_DOWN, AX_LINES, AX_SECRETS, AX_TEXT } from './limits.js';

/** Facts about a frame that decide whether it is read. */
const FRAME = "({url:location.href,origin:self.origin,elements:document.getElementsByTagName('*').length})";

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function accessibility({ selector, depth = AX_DEPTHS.most }, context) {
  const wanted = selector === undefined ? undefined : checkedText('selector', selector);
  const levels = checkedInteger('depth', depth, AX_DEPTHS);
  const { value, url, dialogs } = await lookAtPage(context, async (id) => {
    const objectId = await findStart(id, wanted);
    const tree = wanted === undefined ? await treeOf(id, { frames: AX_FRAMES }) : await treeBelow(id, objectId);
    cdp(id, 'Runtime.releaseObject', { objectId }).catch(console.debug);
    return { ...tree.render({ depth: levels, lines: AX_LINES, text: AX_TEXT }), ...await pdfNote(id) };
  });
  if (value.nodes === 0) {
    throw new ActionError('invalid_params', `what ${JSON.stringify(wanted)} matches is hidden from assistive technology`);
  }
  return { value, type: 'object', origin: originOf(url), dialogs };
}

/**
 * The first match, or the document, unless it is too large.
 * @param {number} tabId @param {string | undefined} selector @returns {Promise<string>} its name in the protocol
 */
async function findStart(tabId, selector) {
  const { value, objectId } = await evaluateIsolated(tabId, withLook(startSource(selector)));
  switch (value) {
    case undefined: return objectId;
    case 'wrong': throw wrongSelector(selector ?? '');
    case 'none': throw new ActionError('invalid_params', `nothing on the page matches ${JSON.stringify(selector)}; leave it out for the whole page`);
    default: throw new ActionError('invalid_params',
      `${selector ? JSON.stringify(selector) : 'the page'} has more than ${AX_ELEMENTS} elements; name a part of it with selector (page_summary and dom tell what there is)`);
  }
}

/** @param {string | undefined} selector */
function startSource(selector) {
  return `(()=>{
    const selector=${JSON.stringify(selector ?? null)};
    let start=selector===null?document:null;
    if(!start){
      try{document.createDocumentFragment().querySelector(selector)}catch{return 'wrong'}
      look.walk(document.documentElement,(node)=>{if(!start&&node.nodeType===1&&look.matches(node,selector))start=node;return !start});
      if(!start)return 'none';
    }
    let elements=0;
    look.renew();
    look.walk(start,({nodeType})=>{if(nodeType===1)elements+=1;return elements<=${AX_ELEMENTS}});
    return elements>${AX_ELEMENTS}?'large':start})()`;
}

/** @param {number} tabId @param {string} objectId @returns {Promise<AxTree>} */
async function treeBelow(tabId, objectId) {
  const nodes = await nodesBelow(tabId, objectId, AX_LEVELS_DOWN);
  return filled(tabId, new AxTree(nodes, await secretNodes(tabId)), { frames: AX_FRAMES });
}

/**
 * The DOM nodes of the fields that hold secrets.
 * @param {number} tabId @param {string} [frameId] absent: the page itself
 * @returns {Promise<Set<number>>}
 */
async function secretNodes(tabId, frameId) {
  const { objectId } = await evaluateIsolated(tabId, withLook(`look.secretFields(${AX_SECRETS})`), frameId);
  const { result: items } = await cdp(tabId, 'Runtime.getProperties', { objectId, ownProperties: true });
  const fields = items.flatMap((/** @type {any} */ { value }) => value?.objectId ?? []);
  const found = await Promise.all(fields.map((/** @type {string} */ field) => cdp(tabId, 'DOM.describeNode', { objectId: field })));
  cdp(tabId, 'Runtime.releaseObject', { objectId }).catch(console.debug);
  return new Set(found.map(({ node }) => node.backendNodeId));
}

/**
 * For an element without a role of its own the browser gives no node, not even for its descendants.
 * @param {number} tabId @param {string} objectId @param {number} levels how far to look into it then
 * @returns {Promise<AxNode[]>}
 */
async function nodesBelow(tabId, objectId, levels) {
  const { nodes } = await cdp(tabId, 'Accessibility.queryAXTree', { objectId });
  if (levels === 0 || nodes.some((/** @type {AxNode} */ { ignored }) => !ignored)) return nodes;
  const inner = await elementsIn(tabId, objectId);
  const parts = await Promise.all(inner.map((id) => nodesBelow(tabId, id, levels - 1)));
  return parts.flat();
}

/** The visible elements in an element, by their names in the protocol. @param {number} tabId @param {string} objectId @returns {Promise<string[]>} */
async function elementsIn(tabId, objectId) {
  const functionDeclaration = `function(){
    if(!this.checkVisibility()&&getComputedStyle(this).display!=='contents')return[];
    const assigned=this.localName==='slot'?this.assignedElements():[];
    return(assigned.length>0?assigned:[...(this.shadowRoot??this).children]).slice(0,20)}`;
  const { result: list } = await cdp(tabId, 'Runtime.callFunctionOn', { objectId, functionDeclaration });
  const { result: items } = await cdp(tabId, 'Runtime.getProperties', { objectId: list.objectId, ownProperties: true });
  return items.flatMap((/** @type {any} */ { value }) => value?.objectId ?? []);
}

/**
 * @param {number} tabId @param {{frames: number}} room how many frames may still be read
 * @param {string} [frameId] absent: the page itself
 * @returns {Promise<AxTree>}
 */
async function treeOf(tabId, room, frameId) {
  const { nodes } = await cdp(tabId, 'Accessibility.getFullAXTree', frameId === undefined ? {} : { frameId });
  return filled(tabId, new AxTree(nodes, await secretNodes(tabId, frameId)), room);
}

/** Adds the trees of its frames. @param {number} tabId @param {AxTree} tree @param {{frames: number}} room @returns {Promise<AxTree>} */
async function filled(tabId, tree, room) {
  for (const backendNodeId of tree.frames()) {
    const inner = await frameTree(tabId, room, backendNodeId);
    if (inner) tree.fill(backendNodeId, inner);
  }
  return tree;
}

/** @param {number} tabId @param {{frames: number}} room @param {number} backendNodeId @returns {Promise<AxTree | null>} */
async function frameTree(tabId, room, backendNodeId) {
  room.frames -= 1;
  if (room.frames < 0) return null;
  try {
    const { node: { frameId } } = await cdp(tabId, 'DOM.describeNode', { backendNodeId });
    const { url, origin, elements } = await readIsolated(tabId, FRAME, frameId);
    return elements > AX_ELEMENTS || policy.blocksPage(url, origin) || [url, origin].some((page) => policy.far.hides(tabId, page)) ? null : await treeOf(tabId, room, frameId);
  } catch (error) {
    // One of another site is in another process, which this session does not reach.
    console.debug('tabwire: a frame was not read', error);
    return null;
  }
}
