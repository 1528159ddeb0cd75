// @ts-check
// Which actions act on a page, for the person's rules about acts. A test of the daemon holds these names to its
// registry.

/** They change the page that is there, or run code in it. */
const ON_PAGE = new Set([
  'execute_js', 'click', 'hover', 'scroll', 'drag', 'draw', 'upload_file', 'type', 'press_key', 'select_option', 'check', 'uncheck', 'fill_form',
  'clipboard', 'call_page_tool', 'dialog',
]);
/** They bring a page to a tab or close it. Who may read a site may open it. Of a batch each step is judged. */
const AROUND_PAGE = new Set(['navigate', 'refresh', 'back', 'forward', 'tab_close', 'tab_activate', 'trace', 'record', 'pdf', 'batch']);

/** All actions that these lists name. */
export const KNOWN_ACTS = [...ON_PAGE, ...AROUND_PAGE];

/**
 * @typedef {{names: string[], isOnPage: boolean}} ActKind `names`: the actions that a rule against it may name
 * @param {string} type @param {any} params of a command or of a step @returns {ActKind}
 */
export function actKind(type, params) {
  // Both run code in the page.
  const runsScript = type === 'call_page_tool' || type === 'wait_for' && typeof params?.function === 'string';
  return { names: runsScript ? [type, 'execute_js'] : [type], isOnPage: ON_PAGE.has(type) || runsScript };
}
