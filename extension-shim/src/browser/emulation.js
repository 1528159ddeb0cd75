// @ts-check
// Another screen, place or network for the pages of a tab: the checks of what is asked for, and the protocol's commands
// from one emulation to another. Pure but for the browser's own name. The debugger ends all of it when it is let go.

import { checkedChoice, checkedFlag, checkedNumber } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { CPU_SLOWDOWNS, VIEWPORT_RATIOS, VIEWPORT_SIDES } from './limits.js';

/**
 * @typedef {object} Emulation as agents ask for it and are told it; absent: as the browser has it
 * @property {string} [viewport]
 * @property {keyof typeof DEVICES} [device]
 * @property {boolean} [touch]
 * @property {'light' | 'dark'} [color_scheme]
 * @property {boolean} [reduced_motion]
 * @property {string} [locale]
 * @property {string} [timezone]
 * @property {string} [geolocation]
 * @property {keyof typeof NETWORKS} [network]
 * @property {number} [cpu_slowdown]
 *
 * @typedef {{userAgent: string, metadata: Record<string, unknown>}} BrowserIdentity what the browser says it is
 * @typedef {[method: string, params?: object]} ProtocolCommand
 */

const IOS_AGENT = (/** @type {string} */ system) => `Mozilla/5.0 (${system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1`;
const DEVICES = /** @type {const} */ ({
  iphone: { viewport: '393x852@3', agent: IOS_AGENT('iPhone; CPU iPhone OS 17_5') },
  ipad: { viewport: '820x1180@2', agent: IOS_AGENT('iPad; CPU OS 17_5') },
  android_phone: { viewport: '412x915@2.625', isPhone: true },
  android_tablet: { viewport: '800x1280@2', isPhone: false },
});

const slow = (/** @type {number} */ latency, /** @type {number} */ down, /** @type {number} */ up) => ({ offline: false, latency, downloadThroughput: down, uploadThroughput: up });
/** As DevTools has them: ms, and bytes a second. */
const NETWORKS = {
  offline: { ...slow(0, 0, 0), offline: true },
  slow_3g: slow(2_000, 50_000, 50_000),
  fast_3g: slow(562.5, 180_000, 84_375),
  // The developer tools have the same under both names.
  slow_4g: slow(562.5, 180_000, 84_375),
  fast_4g: slow(165, 1_012_500, 168_750),
  full: null,
};
const FULL_SPEED = slow(0, -1, -1);

/**
 * Each part: its parameters, from which of its method; null: as the browser has it. Parts that do not differ are left alone.
 * @type {{of: (wanted: Emulation, own: BrowserIdentity) => object | null, on: string, off: ProtocolCommand}[]}
 */
const PARTS = [
  { of: screenOf, on: 'Emulation.setDeviceMetricsOverride', off: ['Emulation.clearDeviceMetricsOverride'] },
  { of: touchOf, on: 'Emulation.setTouchEmulationEnabled', off: ['Emulation.setTouchEmulationEnabled', { enabled: false }] },
  { of: agentOf, on: 'Emulation.setUserAgentOverride', off: ['Emulation.setUserAgentOverride', { userAgent: '' }] },
  { of: mediaOf, on: 'Emulation.setEmulatedMedia', off: ['Emulation.setEmulatedMedia', { media: '', features: [] }] },
  { of: ({ locale }) => (locale === undefined ? null : { locale }), on: 'Emulation.setLocaleOverride', off: ['Emulation.setLocaleOverride', {}] },
  { of: ({ timezone }) => (timezone === undefined ? null : { timezoneId: timezone }), on: 'Emulation.setTimezoneOverride', off: ['Emulation.setTimezoneOverride', { timezoneId: '' }] },
  { of: placeOf, on: 'Emulation.setGeolocationOverride', off: ['Emulation.clearGeolocationOverride'] },
  { of: ({ network }) => (network === undefined ? null : NETWORKS[network]), on: 'Network.emulateNetworkConditions', off: ['Network.emulateNetworkConditions', FULL_SPEED] },
  { of: ({ cpu_slowdown: rate = 1 }) => (rate === 1 ? null : { rate }), on: 'Emulation.setCPUThrottlingRate', off: ['Emulation.setCPUThrottlingRate', { rate: 1 }] },
];

/** All parts as the browser has them. @type {ProtocolCommand[]} */
export const EMULATION_OFF = PARTS.map(({ off }) => off);

/** @param {Emulation} before @param {Emulation} after @param {BrowserIdentity} own @returns {ProtocolCommand[]} */
export function emulationChange(before, after, own) {
  return PARTS.flatMap(({ of, on, off }) => {
    const [was, is] = [of(before, own), of(after, own)];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    return [is === null ? off : /** @type {ProtocolCommand} */ ([on, is])];
  });
}

/** The network alone: who switches the protocol's source of requests off ends it. @param {Emulation} wanted @returns {ProtocolCommand | null} */
export function networkOf({ network }) {
  const conditions = network === undefined ? null : NETWORKS[network];
  return conditions && ['Network.emulateNetworkConditions', conditions];
}

/** For agents that do not know the parameters. */
export const EMULATION_FORMS = `viewport 390x844@3, device ${Object.keys(DEVICES).join('|')}, touch, color_scheme light|dark, reduced_motion, locale de-DE, timezone Europe/Berlin, geolocation 52.52,13.40, network ${Object.keys(NETWORKS).join('|')}, cpu_slowdown 4, reset`;

/** @param {Record<string, any>} params of an action @returns {Emulation} */
export function checkedEmulation({ viewport, device, touch, color_scheme, reduced_motion, locale, timezone, geolocation, network, cpu_slowdown }) {
  const given = (/** @type {unknown} */ value, /** @type {() => object} */ check) => (value === undefined ? {} : check());
  return {
    ...given(viewport, () => ({ viewport: checkedViewport(viewport) })),
    ...given(device, () => ({ device: checkedChoice('device', device, Object.keys(DEVICES)) })),
    ...given(touch, () => ({ touch: checkedFlag('touch', touch) })),
    ...given(color_scheme, () => ({ color_scheme: checkedChoice('color_scheme', color_scheme, ['light', 'dark']) })),
    ...given(reduced_motion, () => ({ reduced_motion: checkedFlag('reduced_motion', reduced_motion) })),
    ...given(locale, () => ({ locale: checkedLocale(locale) })),
    ...given(timezone, () => ({ timezone: checkedTimezone(timezone) })),
    ...given(geolocation, () => ({ geolocation: checkedPlace(geolocation) })),
    ...given(network, () => ({ network: checkedChoice('network', network, Object.keys(NETWORKS)) })),
    ...given(cpu_slowdown, () => ({ cpu_slowdown: checkedNumber('cpu_slowdown', cpu_slowdown, CPU_SLOWDOWNS) })),
  };
}

/** @returns {Promise<BrowserIdentity>} */
export async function ownIdentity() {
  const { userAgent, userAgentData } = /** @type {any} */ (navigator);
  const metadata = await userAgentData.getHighEntropyValues(['architecture', 'bitness', 'fullVersionList', 'model', 'platformVersion', 'wow64']);
  return { userAgent, metadata };
}

/** @param {unknown} value */
function checkedViewport(value) {
  const size = typeof value === 'string' ? sizeIn(value) : null;
  const isIn = (/** @type {number} */ number, /** @type {{least: number, most: number}} */ { least, most }) => number >= least && number <= most;
  const isFine = size && isIn(size.width, VIEWPORT_SIDES) && isIn(size.height, VIEWPORT_SIDES) && (size.ratio === 0 || isIn(size.ratio, VIEWPORT_RATIOS));
  if (!isFine) throw wrong(`viewport must be such as 390x844 or 390x844@3: ${VIEWPORT_SIDES.least} to ${VIEWPORT_SIDES.most} px a side, ${VIEWPORT_RATIOS.least} to ${VIEWPORT_RATIOS.most} pixels for a px`);
  return /** @type {string} */ (value);
}

/** @param {unknown} value */
function checkedLocale(value) {
  try {
    return new Intl.Locale(/** @type {string} */ (value)).toString();
  } catch {
    throw wrong('locale must be a language tag such as de-DE');
  }
}

/** @param {unknown} value */
function checkedTimezone(value) {
  try {
    if (typeof value === 'string' && value !== '') return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    // It is told of below.
  }
  throw wrong('timezone must be a name of the IANA database such as Europe/Berlin');
}

/** @param {unknown} value */
function checkedPlace(value) {
  const numbers = typeof value === 'string' && /^[-+.\d, ]+$/.test(value) ? value.split(',').map(Number) : [];
  const [latitude, longitude] = numbers;
  if (numbers.length !== 2 || !(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) {
    throw wrong('geolocation must be latitude and longitude in degrees, such as 52.52,13.40');
  }
  return `${latitude},${longitude}`;
}

/** @param {string} message */
function wrong(message) {
  return new ActionError('invalid_params', message, undefined, { mayHaveRun: false });
}

/** @param {string} text @returns {{width: number, height: number, ratio: number} | null} a ratio of 0: the screen's own */
function sizeIn(text) {
  const [, width, height, ratio = '0'] = /^(\d{1,5})x(\d{1,5})(?:@(\d(?:\.\d{1,4})?))?$/.exec(text) ?? [];
  return width === undefined ? null : { width: Number(width), height: Number(height), ratio: Number(ratio) };
}

/** @param {Emulation} wanted */
function screenOf({ viewport, device }) {
  const size = sizeIn(viewport ?? (device ? DEVICES[device].viewport : ''));
  if (!size) return null;
  const { width, height, ratio } = size;
  return { width, height, deviceScaleFactor: ratio, mobile: device !== undefined, ...(device && { screenWidth: width, screenHeight: height }) };
}

/** @param {Emulation} wanted */
function touchOf({ touch, device }) {
  return touch ?? device !== undefined ? { enabled: true, maxTouchPoints: 5 } : null;
}

/** @param {Emulation} wanted @param {BrowserIdentity} own */
function agentOf({ device, locale }, own) {
  if (device === undefined && locale === undefined) return null;
  return { ...(device === undefined ? { userAgent: own.userAgent, userAgentMetadata: own.metadata } : deviceAgent(device, own)), ...(locale && { acceptLanguage: locale }) };
}

/** @param {keyof typeof DEVICES} device @param {BrowserIdentity} own */
function deviceAgent(device, { userAgent, metadata }) {
  const known = DEVICES[device];
  // Browsers of Apple tell no brands.
  if ('agent' in known) return { userAgent: known.agent, platform: device === 'ipad' ? 'iPad' : 'iPhone' };
  const version = /Chrome\/(\d+)/.exec(userAgent)?.[1] ?? '0';
  return {
    userAgent: `Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 ${known.isPhone ? 'Mobile ' : ''}Safari/537.36`,
    platform: 'Linux armv81',
    userAgentMetadata: { ...metadata, platform: 'Android', platformVersion: '14.0.0', mobile: known.isPhone, model: '', architecture: '', bitness: '' },
  };
}

/** @param {Emulation} wanted */
function mediaOf({ color_scheme, reduced_motion }) {
  const features = [
    ...(color_scheme === undefined ? [] : [{ name: 'prefers-color-scheme', value: color_scheme }]),
    ...(reduced_motion === undefined ? [] : [{ name: 'prefers-reduced-motion', value: reduced_motion ? 'reduce' : 'no-preference' }]),
  ];
  return features.length === 0 ? null : { media: '', features };
}

/** @param {Emulation} wanted */
function placeOf({ geolocation }) {
  if (geolocation === undefined) return null;
  const [latitude, longitude] = geolocation.split(',').map(Number);
  return { latitude, longitude, accuracy: 10 };
}
