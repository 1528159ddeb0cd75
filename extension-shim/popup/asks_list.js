// @ts-check
// The questions of agents in the popup. A row stays as long as its question, so that nothing goes away under the
// hands of a person who types.

/** @import {AskAnswer, AskedFile, ConsentAnswer} from '../types/protocol.js' */
/** @import {AskRow} from '../src/worker/panel.js' */

import { keptAskPicture } from '../src/asks/kept_pictures.js';
import { agentWords, wordsButton } from '../src/lib/agent_words.js';
import { purposeOf } from '../src/lib/consent.js';
import { messageOf } from '../src/lib/errors.js';
import { permissionReason } from '../src/lib/optional_permissions.js';
import { partsOf } from './popup_view.js';

/** For this long after the list has changed a click does not count: it was meant for what stood there before. */
export const SETTLING_MS = 700;

/** The words on a held command. @type {[string, ConsentAnswer, string][]} */
const WORDS = [
  ['Deny', 'deny', 'Not this time'],
  ['Never', 'never', 'This agent is never to do so on this site'],
  ['Once', 'once', 'This command on this page'],
  ['This session', 'session', 'This agent may do so on this site until the browser starts anew, 12 hours at most'],
  ['Always', 'always', 'This agent may do so on this site until you take it back'],
];

/** The words on a recording of what the person does. @type {[string, ConsentAnswer, string][]} */
const WORDS_ON_WATCHING = [
  ['Deny', 'deny', 'Not this time'],
  ['Allow', 'once', 'In this tab on this site, for 10 minutes at most or until you stop it here'],
];

/** @param {string} kind of the need @param {boolean} isPrivate no word is kept for a private window @returns {[string, ConsentAnswer, string][]} */
function wordsOn(kind, isPrivate) {
  if (kind === 'watch') return WORDS_ON_WATCHING;
  return isPrivate ? WORDS.filter(([, word]) => word === 'deny' || word === 'once') : WORDS;
}

/**
 * The words on files that an agent would give to a page. @param {AskedFile[]} files @returns {[string, ConsentAnswer, string][]}
 */
function wordsOnFiles(files) {
  const folders = foldersOf(files);
  const opens = folders.length === 1 ? 'This folder' : 'These folders';
  /** @type {[string, ConsentAnswer, string][]} */
  const folder = files.every(({ may_open_folder }) => may_open_folder)
    ? [[opens, 'folder', opening(folders)]] : [];
  const roots = rootsOf(files);
  /** @type {[string, ConsentAnswer, string][]} */
  const root = roots.length > 0 ? [[roots.length === 1 ? 'This project folder' : 'These project folders', 'root', opening(roots)]] : [];
  return [['No', 'deny', 'Not this time'], ['Once', 'once', 'These files, as they are now, to this page'], ...folder, ...root];
}

/** @param {string[]} folders @returns {string} */
function opening(folders) {
  return `All agents may give the files in ${folders.join(', ')} and its subfolders to pages from now on, until you run: tabwire files remove`;
}

/** @param {AskedFile[]} files @returns {string[]} the folders in which the agent's program says that it works, each once; none, unless each file lies in one */
function rootsOf(files) {
  const roots = files.flatMap(({ root }) => root ?? []);
  return roots.length === files.length ? [...new Set(roots)] : [];
}

/** @param {AskedFile[]} files @returns {string[]} each once */
function foldersOf(files) {
  return [...new Set(files.map(({ path }) => partsOf(path).folder))];
}

/** The longest line that the daemon takes. */
const LINE_MAX = 2_000;

/** @typedef {(correlationId: string, answer: AskAnswer) => Promise<string>} AnswerSender resolves with the trouble, or '' */

export class AsksList {
  #list;
  #send;
  #begin;
  #trouble;
  #changedAt = 0;

  /** @param {HTMLElement} list @param {AnswerSender} send @param {(correlationId: string) => Promise<string>} begin a step, or goes to its tab @param {(trouble: string) => void} trouble shows it */
  constructor(list, send, begin, trouble) {
    this.#list = list;
    this.#send = send;
    this.#begin = begin;
    this.#trouble = trouble;
  }

  /** @param {AskRow[]} asks */
  show(asks) {
    const gone = [...this.#list.children].filter(({ id }) => !asks.some(({ correlation_id }) => correlation_id === id));
    const changed = [...this.#list.children].filter((row) => asks.some((ask) => ask.correlation_id === row.id && stateOf(ask) !== /** @type {HTMLElement} */ (row).dataset.state));
    for (const row of changed) row.remove();
    const fresh = asks.filter(({ correlation_id }) => !document.getElementById(correlation_id));
    for (const row of gone) row.remove();
    this.#list.append(...fresh.map((ask) => this.#row(ask)));
    if (gone.length > 0 || fresh.length > 0) this.#settle();
    for (const ask of asks) this.#showPicture(ask).catch(console.debug);
  }

  #settle() {
    this.#changedAt = performance.now();
    this.#list.dataset.settling = 'true';
    setTimeout(() => { if (this.#isSettled) this.#list.dataset.settling = 'false'; }, SETTLING_MS);
  }

  get #isSettled() {
    return performance.now() - this.#changedAt >= SETTLING_MS;
  }

  /** @param {AskRow} ask */
  #row(ask) {
    const row = document.createElement('li');
    row.id = ask.correlation_id;
    row.dataset.state = stateOf(ask);
    const words = document.createElement('div');
    // The list of the files says it all, and leaves room.
    const prompt = ask.kind === 'consent' && ask.need.files ? '' : ask.question;
    words.append(...agentWords({ client: ask.client, prompt }));
    if (ask.kind === 'consent') words.children[0].append(` wants to ${purposeOf(ask.need)}:`);
    if (ask.kind === 'hand_over') words.children[0].append(' asks you to do a step alone:');
    row.append(words);
    if (ask.tab_title) row.append(Object.assign(document.createElement('div'), { className: 'tab', textContent: ask.tab_title, title: ask.tab_title }));
    if (ask.browser_label && ask.kind !== 'hand_over') row.append(Object.assign(document.createElement('div'), { className: 'tab', textContent: `In the browser ${ask.browser_label}` }));
    row.append(...this.#controls(ask));
    return row;
  }

  /** @param {AskRow} ask @returns {HTMLElement[]} */
  #controls(ask) {
    switch (ask.kind) {
      case 'approve': {
        const note = lineInput('Note to the agent (optional)');
        const words = () => (note.value.trim() ? { note: note.value.trim() } : {});
        return [note, buttons([
          this.#button(ask, 'Deny', () => ({ kind: 'deny', ...words() })),
          this.#button(ask, 'Allow', () => ({ kind: 'allow', ...words() })),
        ])];
      }
      case 'consent': {
        if (ask.need.kind === 'permission') return this.#permissionControls(ask, ask.need.site);
        const { files = [] } = ask.need;
        const words = files.length > 0 ? wordsOnFiles(files) : wordsOn(ask.need.kind, ask.is_private === true);
        return [...fileList(files), ...rootList(files), buttons(words.map(([label, consent, hint]) => Object.assign(this.#button(ask, label, () => ({ kind: 'consent', consent })), { title: hint })))];
      }
      case 'hand_over': return this.#stepControls(ask);
      case 'choose': {
        const options = ask.options.map((option, index) => this.#bind(ask, wordsButton(option), () => ({ kind: 'option', index })));
        return [buttons(options), buttons([this.#decline(ask)])];
      }
      default: {
        const line = lineInput('Your answer');
        const send = this.#button(ask, 'Send', () => (line.value.trim() ? { kind: 'text', text: line.value.trim() } : null));
        line.addEventListener('keydown', ({ key }) => { if (key === 'Enter') send.click(); });
        return [line, buttons([this.#decline(ask), send])];
      }
    }
  }

  /** @param {AskRow} ask @param {string} permission of the extension @returns {HTMLElement[]} */
  #permissionControls(ask, permission) {
    const text = Object.assign(document.createElement('p'), { className: 'step' });
    if (ask.tab_id === undefined) {
      text.textContent = `It is to be given in ${ask.browser_label ? `the browser ${ask.browser_label}` : 'another browser'}, whose popup shows it.`;
      return [text];
    }
    text.textContent = permissionReason(permission);
    const give = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Give it…', title: 'Your browser then asks you itself' });
    give.addEventListener('click', () => {
      if (!this.#isSettled) return;
      // The browser asks only in answer to a click. The worker hears of a yes: the browser's question may close the popup.
      chrome.permissions.request({ permissions: [/** @type {chrome.runtime.ManifestOptionalPermission} */ (permission)] }).then((isGiven) => (
        isGiven ? '' : this.#send(ask.correlation_id, { kind: 'consent', consent: 'deny' })
      )).then(this.#trouble, (error) => this.#trouble(messageOf(error)));
    });
    return [text, buttons([this.#button(ask, 'Deny', () => ({ kind: 'consent', consent: 'deny' })), give])];
  }

  /** @param {AskRow} ask @returns {HTMLElement[]} */
  #stepControls(ask) {
    const text = Object.assign(document.createElement('p'), { className: 'step' });
    if (!ask.hand_over) {
      text.textContent = `It is to be done in ${ask.browser_label ? `the browser ${ask.browser_label}` : 'another browser'}, whose popup shows it.`;
      return [text];
    }
    const { site, is_begun } = ask.hand_over;
    text.textContent = is_begun ? `No agent sees your tab or can use ${site || 'its page'} until you say how it went. Your tab then closes.`
      : `It begins in a new tab at ${site || 'no page of the web'}. What you have typed elsewhere stays there. No agent can use this site meanwhile.`;
    const note = lineInput('Note to the agent (optional)');
    const words = () => (note.value.trim() ? { note: note.value.trim() } : {});
    const go = Object.assign(document.createElement('button'), { type: 'button', textContent: is_begun ? 'Show the tab' : 'Begin' });
    go.addEventListener('click', () => {
      if (this.#isSettled) this.#begin(ask.correlation_id).then(this.#trouble, console.debug);
    });
    const cannot = this.#button(ask, 'Cannot', () => ({ kind: 'cannot', ...words() }));
    const done = is_begun ? [this.#button(ask, 'Done', () => ({ kind: 'done', ...words() }))] : [];
    return [text, note, buttons([cannot, go, ...done])];
  }

  /** @param {AskRow} ask */
  #decline(ask) {
    return this.#button(ask, 'Do not answer', () => ({ kind: 'decline' }));
  }

  /** @param {AskRow} ask @param {string} label @param {() => AskAnswer | null} answer null: there is none yet */
  #button(ask, label, answer) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label, ariaLabel: `${label}: ${ask.question}` });
    return this.#bind(ask, button, answer);
  }

  /** @param {AskRow} ask @param {HTMLButtonElement} button @param {() => AskAnswer | null} answer */
  #bind({ correlation_id }, button, answer) {
    button.addEventListener('click', () => {
      const given = answer();
      if (given === null || !this.#isSettled) return;
      // The next click is not for the question that may follow in the same row.
      const all = button.closest('li')?.querySelectorAll('button') ?? [button];
      for (const one of all) one.disabled = true;
      this.#send(correlation_id, given).then((trouble) => {
        this.#trouble(trouble);
        for (const one of all) one.disabled = trouble === '';
      }, console.debug);
    });
    return button;
  }

  /** @param {AskRow} ask */
  async #showPicture({ correlation_id, kind, tab_id }) {
    const row = document.getElementById(correlation_id);
    if (!['approve', 'consent'].includes(kind) || tab_id === undefined || !row || row.querySelector('.picture')) return;
    const kept = await keptAskPicture(correlation_id);
    if (!kept || row.querySelector('.picture')) return;
    const shown = 'picture' in kept
      ? Object.assign(document.createElement('img'), { src: kept.picture, alt: 'The page now' })
      : Object.assign(document.createElement('p'), { textContent: kept.trouble });
    shown.className = 'picture';
    (row.querySelector('input') ?? row.querySelector('.buttons'))?.before(shown);
    // The buttons below it have moved.
    this.#settle();
  }
}

/** @param {AskRow} ask @returns {string} a row is made anew when this changes: nobody allows what they have not read */
function stateOf(ask) {
  // A command may be held for one thing after the other.
  if (ask.kind === 'consent') return JSON.stringify(ask.need);
  return ask.hand_over ? String(ask.hand_over.is_begun) : '';
}

/** @param {AskedFile[]} files @returns {HTMLElement[]} */
function fileList(files) {
  if (files.length === 0) return [];
  const list = Object.assign(document.createElement('ul'), { className: 'files' });
  list.append(...files.map(({ path, size }) => {
    const row = document.createElement('li');
    const parts = partsOf(path);
    const name = Object.assign(document.createElement('b'), { textContent: parts.name, dir: 'auto' });
    const folder = Object.assign(document.createElement('bdi'), { textContent: parts.folder });
    row.append(name, ` ${sizeInWords(size)}, in `, folder);
    return row;
  }));
  return [list];
}

/** @param {AskedFile[]} files @returns {HTMLElement[]} the agent's word, which nobody has checked, said as one */
function rootList(files) {
  return rootsOf(files).map((root) => {
    const line = Object.assign(document.createElement('p'), { className: 'step' });
    line.append('The agent\u2019s program says that it works in the project folder ', Object.assign(document.createElement('bdi'), { textContent: root }));
    return line;
  });
}

/** @param {number} size in bytes */
function sizeInWords(size) {
  if (size < 1_000) return `${size} bytes`;
  return size < 1_000_000 ? `${(size / 1_000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/** @param {HTMLButtonElement[]} all */
function buttons(all) {
  const row = document.createElement('div');
  row.className = 'buttons';
  row.append(...all);
  return row;
}

/** @param {string} label */
function lineInput(label) {
  return Object.assign(document.createElement('input'), { type: 'text', placeholder: label, ariaLabel: label, maxLength: LINE_MAX, autocomplete: 'off' });
}
