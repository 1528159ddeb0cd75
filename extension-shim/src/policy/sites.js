// @ts-check
// Which sites agents may use: the one place that decides what a pattern matches. Pure; a host is what the
// URL parser makes of it, so that no spelling of an address passes for another one.

/**
 * @typedef {{allow: string[], deny: string[], agent_deny?: string[], read?: string[], deny_actions?: {action: string, pattern: string}[], ask?: string[], default?: 'allow' | 'ask'}} SiteRules
 *   where `allow` is not empty, nothing else may be used; `agent_deny`: denials by agents, which count as `deny` does;
 *   `read`: agents may read there and not act; `ask`: the person is asked before a client acts; `default`: on sites without a rule
 * @typedef {{scheme: string, host: string, port: string, below: boolean}} Pattern `below`: without the host itself
 * @typedef {{host: string, rule: string}} Block the reason for refusing a URL, in words
 */

/** The length of a pattern, in characters: it has ASCII only. */
const PATTERN_MAX = 256;
const FORM = /^(?:(https?):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::([1-9][0-9]{0,4}))?$/i;
/** A last part that the URL parser takes for a number makes an address of the host. */
const ADDRESS = /^\[|(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$/i;
/** An IPv4 address in the clothes of IPv6, as the URL parser writes it: the browser connects to the former. */
const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;
const FOUR_NUMBERS = /^(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})$/;
/** Schemes that show or hold the content of another URL. */
const AROUND = new Set(['view-source:', 'blob:', 'filesystem:']);
/** Made by a page that has no origin to name: a local file, or a page in a sandbox. */
const BLOB_OF_NO_SITE = /^blob:null\//i;
const EMPTY_PAGE = /^about:(?:blank|srcdoc)(?:[?#]|$)/i;
/** Every name and address by which a browser reaches this computer itself. 0.0.0.0 and [::] lead here, too. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.[0-9.]+|0\.0\.0\.0|\[::1?\])$/;
const USUAL_PORTS = /** @type {Record<string, string>} */ ({ http: '80', https: '443', ws: '80', wss: '443', ftp: '21' });

/** @param {string} text @returns {Pattern | null} null: it is none */
export function parsePattern(text) {
  if (/^file:$/i.test(text)) return { scheme: 'file', host: '', port: '', below: false };
  const [, scheme = '', below, name, port = ''] = FORM.exec(text) ?? [];
  if (text.length > PATTERN_MAX || text.endsWith('\n') || name === undefined || Number(port) > 65_535) return null;
  const isAddress = ADDRESS.test(name);
  if (isAddress && (below || (!name.startsWith('[') && !FOUR_NUMBERS.test(withoutDot(name))))) return null;
  const host = hostOf(name);
  return host === null ? null : { scheme: scheme.toLowerCase(), host, port, below: below !== undefined };
}

/** @param {string} name @returns {string | null} as the URL parser writes it */
function hostOf(name) {
  const url = `http://${name}/`;
  return name.split('.').every((label) => label.length <= 63) && URL.canParse(url) ? plainHost(new URL(url).hostname) : null;
}

/** The one spelling of a host. @param {string} host as the URL parser writes it */
function plainHost(host) {
  const [, high, low] = MAPPED.exec(host) ?? [];
  if (high === undefined) return withoutDot(host);
  return [high, low].map((half) => parseInt(half, 16)).flatMap((half) => [half >> 8, half & 255]).join('.');
}

/** A name with a dot at its end is the same name. @param {string} host */
function withoutDot(host) {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/** @param {string} url @returns {boolean} whether its only content is written by its opener */
export function isEmptyPage(url) {
  return EMPTY_PAGE.test(url);
}

/** @param {string} url @returns {boolean} whether only the document itself can name its maker */
export function hidesOwner(url) {
  return isEmptyPage(url) || BLOB_OF_NO_SITE.test(url);
}

/** @param {string} url @returns {string | null} the local file that it shows, without query and fragment; null: none */
export function fileIn(url) {
  const file = innermost(url);
  if (file === null || file.protocol !== 'file:') return null;
  file.search = '';
  file.hash = '';
  return file.href;
}

/** @param {SiteRules} rules @returns {boolean} whether every site may be used */
export function isOpen({ allow, deny, agent_deny = [], read = [], deny_actions = [], ask = [], default: other = 'allow' }) {
  return other === 'allow' && [allow, deny, agent_deny, read, deny_actions, ask].every((list) => list.length === 0);
}

/**
 * @param {SiteRules} rules @param {string} url
 * @returns {Block | null} null: it may be used. An empty page is of no site: who has made it is for the caller to find
 *   out. Which local files are open is another rule: here they can only be denied
 */
export function blockOf(rules, url) {
  if (isOpen(rules) || url === '' || isEmptyPage(url)) return null;
  const place = placeOf(url);
  // A pattern that cannot be read denies everything and allows nothing.
  const denied = [...rules.deny, ...rules.agent_deny ?? []].find((text) => denies(parsePattern(text) ?? 'unreadable', place));
  if (denied !== undefined) return { host: place.name, rule: `the deny rule ${denied}` };
  if (rules.allow.length === 0 || place.scheme === 'file') return null;
  const isAllowed = rules.allow.some((text) => {
    const pattern = parsePattern(text);
    return pattern !== null && matches(pattern, place);
  });
  return isAllowed ? null : { host: place.name, rule: 'the allow list, which does not have it' };
}

/**
 * @param {SiteRules} rules @param {import('./acts.js').ActKind} act @param {string} url of the page that it is on
 * @returns {Block | null} null: no rule about acts forbids it
 */
export function actBlockOf({ read = [], deny_actions = [] }, { names, isOnPage }, url) {
  if (read.length === 0 && deny_actions.length === 0 || url === '' || isEmptyPage(url)) return null;
  const place = placeOf(url);
  const isThere = (/** @type {string} */ text) => denies(parsePattern(text) ?? 'unreadable', place);
  const denied = deny_actions.find(({ action, pattern }) => names.includes(action) && isThere(pattern));
  if (denied) return { host: place.name, rule: `the rule that denies ${denied.action} on ${denied.pattern}` };
  const readOnly = isOnPage ? read.find(isThere) : undefined;
  return readOnly === undefined ? null : { host: place.name, rule: `the rule ${readOnly}, which lets agents read there and not act` };
}

/**
 * @param {SiteRules} rules @param {string} url @returns {string | null} the site, if the person wants to be asked before agents
 *   act there
 */
export function askedSite({ ask = [], default: other = 'allow' }, url) {
  if (ask.length === 0 && other === 'allow' || url === '' || isEmptyPage(url)) return null;
  const place = placeOf(url);
  const isAsked = other === 'ask' || ask.some((text) => denies(parsePattern(text) ?? 'unreadable', place));
  return isAsked ? siteOf(place) : null;
}

/** @param {string} url @returns {string} its site, as the person's words name it */
export function siteName(url) {
  return siteOf(placeOf(url));
}

/**
 * @param {string} url @returns {{scheme: string, host: string, port: string, isHere: boolean}} the place that it shows or holds;
 *   `isHere`: it leads to this computer itself
 */
export function shownPlace(url) {
  const { scheme, host, port } = placeOf(url);
  return { scheme, host, port, isHere: LOOPBACK.test(host) };
}

/** The origin of a page, in the one spelling of its host. @param {UrlParts} place */
function siteOf({ scheme, host, port }) {
  if (host === '') return `${scheme || 'no site'}:`;
  return `${scheme}://${host}${port === '' || port === USUAL_PORTS[scheme] ? '' : `:${port}`}`;
}

/**
 * @typedef {{scheme: string, host: string, port: string, name: string}} UrlParts no host: of no site; `name` for people
 * @param {string} url @returns {UrlParts}
 */
function placeOf(url) {
  const inner = innermost(url);
  if (inner === null) return { scheme: '', host: '', port: '', name: 'a page of no site' };
  const { protocol, hostname, port } = inner;
  const scheme = protocol.slice(0, -1);
  const host = plainHost(hostname);
  return { scheme, host, port: port || (USUAL_PORTS[scheme] ?? ''), name: host || `a ${protocol} page` };
}

/** The URL that a URL shows or holds. @param {string} url @returns {URL | null} null: it is no URL */
function innermost(url) {
  let inner = parsed(url);
  // Of the parsed URL: the parser drops control characters, which could hide a scheme.
  while (inner !== null && AROUND.has(inner.protocol)) inner = parsed(inner.href.slice(inner.protocol.length));
  return inner;
}

/** @param {string} url @returns {URL | null} null: it is none */
function parsed(url) {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

/**
 * To deny one name of this computer denies all of them: they lead to the same programs. To allow one allows that one.
 * @param {Pattern | 'unreadable'} pattern @param {UrlParts} place
 */
function denies(pattern, place) {
  if (matches(pattern, place)) return true;
  const isThisComputer = pattern !== 'unreadable' && !pattern.below && LOOPBACK.test(pattern.host) && LOOPBACK.test(place.host);
  return isThisComputer && matches(pattern, { ...place, host: pattern.host });
}

/** @param {Pattern | 'unreadable'} pattern @param {UrlParts} place */
function matches(pattern, { scheme, host, port }) {
  if (pattern === 'unreadable') return true;
  if (pattern.scheme === 'file') return scheme === 'file';
  if (host === '' || scheme === 'file') return false;
  if (pattern.scheme !== '' && pattern.scheme !== scheme) return false;
  if (pattern.port !== '' && pattern.port !== port) return false;
  const isBelow = host.endsWith(`.${pattern.host}`) && !host.startsWith('[');
  return isBelow || (!pattern.below && host === pattern.host);
}
