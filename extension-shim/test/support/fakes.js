// Small stand-ins for what a worker finds around it. No test talks to a real browser.
import { readdirSync, readFileSync } from 'node:fs';
import { mock } from 'node:test';

const FIXTURES = new URL('../../../tests/fixtures/', import.meta.url);

/** @param {'to_extension' | 'from_extension'} direction @returns {Record<string, any>} by file name without .json */
export function goldenFrames(direction) {
  const folder = new URL(`wire/${direction}/`, FIXTURES);
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return Object.fromEntries(names.map((name) => [name.slice(0, -5), readJson(new URL(name, folder))]));
}

export const proofVectors = () => readJson(new URL('auth.json', FIXTURES)).vectors;

export const secretVectors = () => readJson(new URL('secrets.json', FIXTURES));
export const ownPageVectors = () => readJson(new URL('own_pages.json', FIXTURES));
export const siteVectors = () => readJson(new URL('sites.json', FIXTURES));

function readJson(url) {
  return JSON.parse(readFileSync(url, 'utf8'));
}

/** The person lets agents do everything. */
export const openGate = { isOpen: () => true, check: async () => {}, assertAct() {} };
export const openPolicy = { isStopped: false, handed: { isAny: false, hasTab: () => false, covers: () => false }, own: { hasTab: () => false, covers: () => false }, far: { isAny: false, hides: () => false, assert() {} }, allowsEverySite: true, restore: async () => {}, blocks: () => false, blocksIn: () => false, blocksPage: () => false, admitIn: async () => {}, assertUrl() {}, admit: async () => {}, admitAll: async () => {}, admitOwner: async () => {}, admitTab: async () => {} };

/** Lets every promise that can settle do so; works under mocked timers. */
export async function settled() {
  for (let i = 0; i < 50; i += 1) await Promise.resolve();
}

/** Work of the real crypto, which another thread does: settled promises alone do not wait for it. @type {Set<Promise<unknown>>} */
const underWay = new Set();

for (const name of /** @type {const} */ (['digest', 'importKey', 'sign'])) {
  const { prototype } = SubtleCrypto;
  const original = /** @type {(...args: any[]) => Promise<unknown>} */ (prototype[name]);
  /** @param {...any} args */
  const noted = function (...args) {
    const work = Reflect.apply(original, this, args);
    underWay.add(work);
    const forget = () => void underWay.delete(work);
    work.then(forget, forget);
    return work;
  };
  Object.defineProperty(prototype, name, { value: noted });
}

/** The same until no work of crypto is under way, nor what follows from it. */
export async function cryptoSettled() {
  do {
    await Promise.allSettled(underWay);
    await settled();
  } while (underWay.size > 0);
}

/** A storage area that hands out copies, in no useful order, as the real ones do. */
export class FakeStorage {
  data = {};
  /** @type {Error | null} thrown by the next writes */
  broken = null;

  async get(key) {
    const all = Object.fromEntries(Object.entries(structuredClone(this.data)).sort());
    if (Array.isArray(key)) return Object.fromEntries(key.map((one) => [one, all[one]]));
    return key === null ? all : { [key]: all[key] };
  }

  async set(entries) {
    if (this.broken) throw this.broken;
    Object.assign(this.data, structuredClone(entries));
  }

  async setAccessLevel() {}

  async remove(key) {
    delete this.data[key];
  }

  setAccessLevel = mock.fn(async () => {});
}

export function installChrome() {
  globalThis.navigator ??= { userAgent: 'Mozilla/5.0' }; // Node 20 has none.
  const session = new FakeStorage();
  const local = new FakeStorage();
  globalThis.chrome = {
    storage: { session, local },
    runtime: {
      getManifest: () => ({ version: '0.1.0' }),
      getPlatformInfo: mock.fn(async () => ({})),
      getURL: (path) => `chrome-extension://ours/${path}`,
      connectNative: (name) => new FakeHost(name),
    },
    extension: { isAllowedIncognitoAccess: async () => false },
    management: { getSelf: async () => ({ installType: 'normal' }) },
    scripting: { executeScript: mock.fn(async () => []) },
    webNavigation: { getFrame: async () => ({ url: 'http://127.0.0.1:8000/', documentId: 'D' }) },
    windows: { WINDOW_ID_NONE: -1, getLastFocused: async () => ({ id: 1 }), getAll: async () => [{ id: 1 }] },
    tabs: {
      TAB_ID_NONE: -1,
      query: async () => [
        { id: 7, windowId: 1, url: 'http://127.0.0.1:8000/', title: 'Home Page', active: true, status: 'complete' },
        { id: 8, windowId: 1, url: 'about:blank', title: '', active: false, status: 'complete' },
      ],
      get: async () => ({}),
      getZoom: async () => 1,
    },
    action: Object.fromEntries(['setIcon', 'setBadgeText', 'setBadgeBackgroundColor', 'setBadgeTextColor', 'setTitle'].map((name) => [name, async () => {}])),
  };
  return { session, local };
}

/** A native messaging host that the browser was asked to start; the test plays it. */
export class FakeHost {
  /** @type {FakeHost[]} every one, oldest first */
  static started = [];
  heard = [];
  isOpen = true;

  constructor(name) {
    this.name = name;
    for (const event of ['onMessage', 'onDisconnect']) {
      this[event] = { listeners: [], addListener(listener) { this.listeners.push(listener); } };
    }
    FakeHost.started.push(this);
  }

  static get last() {
    return FakeHost.started.at(-1);
  }

  postMessage(message) {
    this.heard.push(message);
  }

  /** We end it: nobody is told. */
  disconnect() {
    this.isOpen = false;
  }

  async answers(message) {
    for (const listener of this.onMessage.listeners) listener(message);
    await settled();
  }

  /** It ends, or the browser did not start it. */
  async ends(why) {
    this.isOpen = false;
    chrome.runtime.lastError = { message: why };
    for (const listener of this.onDisconnect.listeners) listener(this);
    delete chrome.runtime.lastError;
    await settled();
  }
}

/** The browser's end of a connection that the test plays the daemon on. */
export class FakeSocket {
  /** @type {FakeSocket[]} every socket that was opened, oldest first */
  static opened = [];
  sent = [];
  closed = false;

  constructor(url, protocol) {
    Object.assign(this, { url, protocol });
    FakeSocket.opened.push(this);
  }

  static get last() {
    return FakeSocket.opened.at(-1);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
  }

  /** The daemon says something. */
  receive(frame) {
    this.onmessage({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) });
  }

  /** The daemon, or the network, ends it. */
  end(code, reason = '') {
    this.onclose({ code, reason });
  }

  types() {
    return this.sent.map((frame) => frame.type);
  }
}

/** A request that the extension has sent; the test plays the daemon. */
export class FakeRequest {
  /** @type {FakeRequest[]} every request, oldest first */
  static sent = [];
  /** What is on the port answers `GET /health` with this; null: nothing is there. */
  static health = { name: 'tabwire' };
  static healthStatus = 200;
  isOpen = true;

  constructor(url, { method, headers, body, signal }, settle) {
    const { pathname, searchParams, host } = new URL(url);
    Object.assign(this, { method, headers, host, path: pathname, query: Object.fromEntries(searchParams), settle });
    this.body = body === undefined ? undefined : JSON.parse(body);
    this.bytes = body?.length;
    signal?.addEventListener('abort', () => this.breaks('aborted'));
    FakeRequest.sent.push(this);
  }

  /** From now on requests wait for the test to answer them. */
  static listen() {
    FakeRequest.#begin((url, options) => new Promise((resolve, reject) => {
      new FakeRequest(url, options, { resolve, reject });
    }));
  }

  /** From now on the port answers nothing but `GET /health`. */
  static noDaemon() {
    FakeRequest.#begin(async () => {
      throw new TypeError('Failed to fetch');
    });
  }

  static #begin(fetch) {
    FakeRequest.sent = [];
    FakeRequest.health = { name: 'tabwire' };
    FakeRequest.healthStatus = 200;
    globalThis.fetch = async (url, options) => {
      if (!String(url).endsWith('/health')) return fetch(url, options);
      if (FakeRequest.health === null) throw new TypeError('Failed to fetch');
      return { status: FakeRequest.healthStatus, json: async () => FakeRequest.health };
    };
  }

  /** The newest request of this kind that is not answered. */
  static open(method, path) {
    return FakeRequest.sent.findLast((request) => request.isOpen && request.method === method && request.path === path);
  }

  async answer(body, status = 200) {
    this.isOpen = false;
    this.settle.resolve({ ok: status === 200, status, json: async () => body });
    await settled();
  }

  async breaks(why = 'Failed to fetch') {
    this.isOpen = false;
    this.settle.reject(new TypeError(why));
    await settled();
  }
}

/** Keys and types of a JSON value: what two frames of one kind have in common. */
export function shape(value) {
  if (Array.isArray(value)) return value.map(shape);
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, shape(value[key])]));
}
