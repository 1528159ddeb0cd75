// @ts-check
// The one way to cut a text, in the worker and in pages. Its functions are also sent to pages as text, so they use
// only each other and the globals of every page.

/** The beginning of a text, in UTF-16 units: an emoji has two, and is taken whole or not at all. @param {string} text @param {number} most @returns {string} */
export function headOf(text, most) {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

/** The same with a sign if something is missing. @param {string} text @param {number} most @returns {string} */
export function clip(text, most) {
  return text.length <= most ? text : `${headOf(text, most)}…`;
}

/** Defines both. */
export const CLIP = `${headOf}\n${clip}`;
