// @ts-check
// A command in the chat of its agent. The page talks to its host alone, and asks that for nothing but its size: it calls no tool,
// reads no resource, opens no link, says nothing to the model. All that it is told is text to it, of any form and any length.

import { byId, element, length, say } from '../../edge/dashboard/page/parts.js';
import { drawSegments, endOf, phaseTable, segmentsOf } from '../../edge/dashboard/page/phases.js';

/** The version of MCP Apps. */
const PROTOCOL = '2026-01-26';
/** Where the daemon puts the command into the `_meta` of a result. */
const TIMELINE = 'tabwire/command';
/** The most signs of a text, and of a name. */
const LONGEST = 2_000;
const LONGEST_NAME = 120;
/** The most signs of a text that is read as JSON, and of a picture. */
const LARGEST = 24_000_000;
const MARKS = 100;
const PICTURES = 6;
/** Ten days. */
const LONGEST_MS = 864_000_000;
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/webp'];
/** The id of the one request of the page. */
const OPENING = 1;

/**
 * @typedef {object} CommandStory the parts of a command that are shown, each of a known form
 * @property {string} command
 * @property {string} status
 * @property {string} reason
 * @property {string} place
 * @property {string} error
 * @property {string} message
 * @property {string} hint
 * @property {number | undefined} took
 * @property {{phase: string, after_ms: number, carrier: string}[]} trace
 */

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {unknown} value @param {number} [most] @returns {string} a text of a bearable length; of anything else none */
function textOf(value, most = LONGEST) {
  if (typeof value !== 'string') return '';
  return value.length > most ? `${value.slice(0, most)}…` : value;
}

/** @param {unknown} value */
const nameOf = (value) => textOf(value, LONGEST_NAME);

/** @param {unknown} value @returns {number | undefined} */
const millisOf = (value) => (typeof value === 'number' && value >= 0 && value <= LONGEST_MS ? value : undefined);

/** @param {unknown} told @returns {CommandStory['trace']} the marks that can be drawn, in their order */
function traceOf(told) {
  if (!Array.isArray(told)) return [];
  const marks = told.slice(0, MARKS).filter((mark) => isObject(mark) && nameOf(mark.phase) !== '' && millisOf(mark.after_ms) !== undefined);
  return marks
    .map(({ phase, after_ms, carrier }) => ({ phase: nameOf(phase), after_ms, carrier: nameOf(carrier) }))
    .sort((a, b) => a.after_ms - b.after_ms);
}

/** @param {any[]} content @returns {Record<string, any>} the answer as the model gets it */
function answerIn(content) {
  const text = content.find((part) => isObject(part) && part.type === 'text')?.text;
  if (typeof text !== 'string' || text.length > LARGEST) return {};
  try {
    const answer = JSON.parse(text);
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}

/** @param {Record<string, any>} result @param {Record<string, any>} answer @param {string} action @returns {CommandStory} */
function storyOf(result, answer, action) {
  const meta = isObject(result._meta) ? result._meta[TIMELINE] : undefined;
  if (isObject(meta)) {
    const tab = Number.isSafeInteger(meta.tab_id) ? `tab ${meta.tab_id}` : '';
    return {
      command: nameOf(meta.command) || action, status: nameOf(meta.status) || 'pending', reason: nameOf(meta.reason),
      place: [tab, nameOf(meta.browser_label)].filter(Boolean).join(' in '), error: textOf(meta.error), message: textOf(meta.message),
      hint: textOf(meta.hint), took: millisOf(meta.duration_ms), trace: traceOf(meta.trace),
    };
  }
  // A refused call has no command, and another program on the way may have dropped `_meta`: the answer tells the end.
  const status = answer.status === 'queued' ? 'pending' : nameOf(answer.status);
  const [error, reason] = typeof answer.message === 'string' ? [answer.message, answer.error] : [answer.error, answer.reason];
  return {
    command: action, status: status || (result.isError === true ? 'error' : 'complete'), reason: nameOf(reason), place: '',
    error: textOf(error), message: textOf(answer.message), hint: textOf(answer.hint), took: undefined, trace: traceOf(answer.trace),
  };
}

/** @param {any[]} content @returns {HTMLElement[]} */
function picturesIn(content) {
  const fits = (/** @type {any} */ part) => isObject(part) && part.type === 'image' && PICTURE_TYPES.includes(part.mimeType)
    && typeof part.data === 'string' && part.data.length <= LARGEST && /^[A-Za-z0-9+/]+={0,2}$/.test(part.data);
  return content.filter(fits).slice(0, PICTURES).map(({ mimeType, data }, number, { length: count }) => {
    const alt = count === 1 ? 'The picture that the agent got' : `Picture ${number + 1} of ${count} that the agent got`;
    const picture = element('img', { alt, src: `data:${mimeType};base64,${data}` });
    picture.addEventListener('error', () => { picture.replaceWith(element('p', {}, 'A picture cannot be shown.')); });
    return picture;
  });
}

/** @param {CommandStory} story @param {HTMLElement[]} pictures */
function draw(story, pictures) {
  const end = endOf(story.status);
  const isOpen = end === 'open' || end === 'held';
  say(byId('action'), story.command || 'Tabwire');
  byId('status').dataset.end = end;
  say(byId('status'), story.status.replaceAll('_', ' ') + (story.reason && story.reason !== story.error ? ` · ${story.reason}` : ''));
  say(byId('took'), story.took === undefined ? '' : length(story.took));
  say(byId('place'), story.place);
  const last = story.trace.at(-1)?.after_ms ?? 0;
  // What is open has no end yet: the last part is drawn as the next sixth of the bar.
  const to = story.took ?? (isOpen ? last * 1.2 + 1 : last);
  byId('bar').hidden = story.trace.length === 0;
  drawSegments(byId('bar'), segmentsOf(story.trace, 0, to, end), { from: 0, to: Math.max(to, 1) });
  const about = [];
  if (story.error && !isOpen) about.push(element('p', { class: 'note', tabindex: '0' }, story.error));
  if (story.message && isOpen) about.push(element('p', {}, story.message));
  if (story.hint && end === 'bad') about.push(element('h2', {}, 'Next step for the agent'), element('p', {}, story.hint));
  byId('about').replaceChildren(...about);
  byId('pictures').hidden = pictures.length === 0;
  byId('pictures').replaceChildren(...pictures);
  byId('phases').hidden = story.trace.length === 0;
  byId('trace').replaceChildren(phaseTable(story.trace));
}

/** The other side: the window that shows this page. */
class ViewHost {
  /** Of the call, until its result names the command. */
  #action = '';
  #isOpen = false;
  #isAnswered = false;

  begin() {
    // Any origin can be the host, and nothing that the page says is a secret.
    window.addEventListener('message', ({ source, data }) => {
      if (source === window.parent && isObject(data) && data.jsonrpc === '2.0') this.#hear(data);
    });
    const version = document.querySelector('meta[name=version]')?.getAttribute('content') ?? '';
    const params = { protocolVersion: PROTOCOL, appInfo: { name: 'tabwire', version }, appCapabilities: { availableDisplayModes: ['inline'] } };
    this.#send({ id: OPENING, method: 'ui/initialize', params });
    new ResizeObserver(() => { this.#tellSize(); }).observe(document.body);
  }

  /** @param {object} message */
  #send(message) {
    window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }

  #tellSize() {
    if (!this.#isOpen) return;
    const [width, height] = [document.documentElement.clientWidth, Math.ceil(document.body.getBoundingClientRect().height)];
    this.#send({ method: 'ui/notifications/size-changed', params: { width, height } });
  }

  /** @param {Record<string, any>} message */
  #hear({ id, method, params, result }) {
    if (method === undefined) {
      if (id === OPENING && isObject(result) && !this.#isOpen) this.#open(result);
      return;
    }
    if (id === undefined) return this.#handleNotification(method, isObject(params) ? params : {});
    if (typeof id !== 'string' && typeof id !== 'number') return undefined;
    const isKnown = method === 'ping' || method === 'ui/resource-teardown';
    return this.#send({ id, ...(isKnown ? { result: {} } : { error: { code: -32601, message: 'This page answers no such request' } }) });
  }

  /** @param {Record<string, any>} opened */
  #open({ hostContext }) {
    this.#isOpen = true;
    this.#take(hostContext);
    this.#send({ method: 'ui/notifications/initialized', params: {} });
    this.#tellSize();
  }

  /** @param {any} context */
  #take(context) {
    if (!isObject(context) || (context.theme !== 'light' && context.theme !== 'dark')) return;
    document.documentElement.style.colorScheme = context.theme;
  }

  /** @param {string} method @param {Record<string, any>} params */
  #handleNotification(method, params) {
    if (method === 'ui/notifications/host-context-changed') this.#take(params);
    if (method === 'ui/notifications/tool-input' && isObject(params.arguments) && !this.#isAnswered) {
      this.#action = nameOf(params.arguments.action) || nameOf(params.arguments.what);
      draw({ ...storyOf({}, {}, this.#action), status: 'pending', message: 'The agent waits for the answer of this call.' }, []);
    }
    if (method === 'ui/notifications/tool-result') {
      this.#isAnswered = true;
      const content = Array.isArray(params.content) ? params.content : [];
      draw(storyOf(params, answerIn(content), this.#action), picturesIn(content));
    }
    if (method === 'ui/notifications/tool-cancelled') {
      draw({ ...storyOf({}, {}, this.#action), status: 'cancelled', error: textOf(params.reason) }, []);
    }
  }
}

// Opened by itself, the page has nobody to talk to.
if (window.parent !== window) new ViewHost().begin();
else say(byId('status'), 'This page shows a command in the chat of an MCP client.');
