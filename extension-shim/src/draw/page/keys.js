// @ts-check
// The meaning of each key in the page to draw in. Pure.

/** @import {DrawPoint, DrawTool} from './geometry.js' */

/**
 * @typedef {'surface' | 'note' | 'button'} DrawFocus
 * @typedef {{tool: DrawTool} | {move: DrawPoint} | 'mark' | 'undo' | 'done' | 'cancel' | 'ignore' | null} DrawKey
 *   `ignore`: nothing happens, and nothing else may come of it; null: the browser's to handle
 */

/** How far an arrow key moves the crosshair, without and with Shift. */
export const DRAW_STEPS = { small: 8, large: 64 };
/** @type {DrawTool[]} in the order of their keys, from 1 */
export const DRAW_TOOLS = ['rectangle', 'arrow', 'freehand', 'note'];
/** @type {Record<string, DrawPoint>} */
export const DRAW_DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** Keys that would scroll the page. */
export const DRAW_SCROLL_KEYS = ['PageUp', 'PageDown', 'Home', 'End', ' ', ...Object.keys(DRAW_DIRECTIONS)];

/** @param {Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey' | 'isComposing'>} event @param {DrawFocus} focus @returns {DrawKey} */
export function drawKey({ key, shiftKey, ctrlKey, metaKey, altKey, isComposing }, focus) {
  if (isComposing) return null;
  if (key === 'Escape') return 'cancel';
  if (focus === 'note') return key === 'Enter' && !shiftKey ? 'done' : null;
  if ((ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === 'z') return 'undo';
  if (ctrlKey || metaKey || altKey) return null;
  const tool = DRAW_TOOLS[Number(key) - 1];
  if (tool) return { tool };
  if (focus === 'button') return DRAW_SCROLL_KEYS.includes(key) && key !== ' ' ? 'ignore' : null;
  if (key === 'Enter') return 'done';
  if (key === ' ') return 'mark';
  const direction = DRAW_DIRECTIONS[key];
  if (direction) return { move: drawStep(direction, shiftKey) };
  return DRAW_SCROLL_KEYS.includes(key) ? 'ignore' : null;
}

/** @param {DrawPoint} direction @param {boolean} far @returns {DrawPoint} */
export function drawStep([x, y], far) {
  const step = far ? DRAW_STEPS.large : DRAW_STEPS.small;
  return [x * step, y * step];
}
