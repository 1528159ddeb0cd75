// @ts-check
// Which actions act on a page, for the person's rules about acts. A test of the daemon holds these names to its
// registry.

/** They change the page that is there, or run code in it. */
const ON_PAGE = new Set([
  'execute_js', 'click', 'hover', 'scroll', 'drag', 'draw', 'upload_file', 'type', 'press_key', 'select_option', 'check', 'uncheck', 'fill_form',
  'clipboard', 'call_page_tool', 'dialog', 'emulate', 'network_rules', 'storage', 'set_permissions',
]);
/** They bring a page to a tab or close it. Who may read a site may open it. Of a batch each step is judged. */
const AROUND_PAGE = new Set(['navigate', 'refresh', 'back', 'forward', 'tab_close', 'tab_activate', 'trace', 'record', 'pdf', 'batch', 'highlight']);

/** All actions that these lists name. */
export const KNOWN_ACTS = [...ON_PAGE, ...AROUND_PAGE];

/**
 * @typedef {{names: string[], isOnPage: boolean}} ActKind `names`: the actions that a rule against it may name
 * @param {string} type @param {any} params of a command or of a step @returns {ActKind}
 */
export function actKind(type, params) {
  const isScript = runsScript(type, params);
  return { names: isScript ? [type, 'execute_js'] : [type], isOnPage: ON_PAGE.has(type) || isScript };
}

/** @param {string} type @param {any} params of a command or of a step @returns {boolean} whether it runs an agent's code in the page, or has the page run it */
export function runsScript(type, params) {
  // A rule can answer the request for a script of the page.
  const answers = type === 'network_rules' && rulesIn(params).some((rule) => rule?.answer !== undefined);
  return answers || type === 'execute_js' || type === 'call_page_tool' || type === 'wait_for' && typeof params?.function === 'string';
}

/**
 * The word that an act needs on each site, also where every site is allowed.
 * @param {string} type @param {any} params of a command or of a step @returns {'values' | 'requests' | 'settings' | 'watch' | null} null: none of its own
 */
export function ownWord(type, params) {
  if (type === 'storage') return 'values';
  if (setsPermissions(type, params)) return 'settings';
  if (recordsPerson(type, params)) return 'watch';
  return type === 'network_rules' && rulesIn(params).some((rule) => rule?.answer !== undefined || rule?.headers !== undefined) ? 'requests' : null;
}

/** @param {string} type @param {any} params of a command or of a step @returns {boolean} whether it does more than look at permissions, or put them back */
export function setsPermissions(type, params) {
  return type === 'set_permissions' && params?.permissions !== undefined;
}

/** @param {string} type @param {any} params of a command or of a step @returns {boolean} whether what the person does is recorded from then on */
export function recordsPerson(type, params) {
  return type === 'record' && params?.by === 'person' && params.phase !== 'stop';
}

/** @param {string} type @param {any} params of a command or of a step @returns {boolean} whether it needs a word on acts where the person is asked first */
export function isAskedFirst(type, params) {
  return actKind(type, params).isOnPage && ownWord(type, params) === null;
}

/** @param {any} params @returns {any[]} */
function rulesIn(params) {
  return Array.isArray(params?.rules) ? params.rules : [];
}
