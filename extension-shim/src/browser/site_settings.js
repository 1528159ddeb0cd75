// @ts-check
// The browser's settings on what sites may use, as agents have them set. Those of an extension lie over the person's own,
// which hold again when they are taken away, so nothing of the person's is ever written over.

import { checkedChoice } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';

/**
 * @typedef {keyof typeof TYPES} SitePermission
 * @typedef {'allow' | 'deny' | 'ask'} PermissionWord
 * @typedef {Partial<Record<SitePermission, PermissionWord>>} PermissionWords
 * @typedef {{site: string, words: PermissionWords}} SitePermissions `site`: its origin
 */

/** The browser's names for them. */
const TYPES = /** @type {const} */ ({ geolocation: 'location', notifications: 'notifications', camera: 'camera', microphone: 'microphone', clipboard: 'clipboard', automatic_downloads: 'automaticDownloads' });
/** @type {PermissionWord[]} */
const WORDS = ['allow', 'deny', 'ask'];

/** For agents that do not know the parameters. */
export const PERMISSION_FORMS = `permissions {${Object.keys(TYPES).join(', ')}: ${WORDS.join('|')}}, reset`;

/** @param {unknown} permissions of an action @returns {PermissionWords} */
export function checkedPermissions(permissions) {
  const isNamed = permissions !== null && typeof permissions === 'object' && !Array.isArray(permissions);
  if (!isNamed) throw wrong(`permissions must be such as {"geolocation": "allow"}: ${PERMISSION_FORMS}`);
  const words = Object.entries(permissions);
  for (const [name, word] of words) {
    if (!Object.hasOwn(TYPES, name)) throw wrong(`permissions takes no ${JSON.stringify(name)}; it has ${Object.keys(TYPES).join(', ')}`);
    checkedChoice(`permissions.${name}`, word, WORDS);
  }
  return Object.fromEntries(words);
}

export class SiteSettings {
  /** What is set now, by the browser's names. @type {Map<string, string>} */
  #set = new Map();
  /** One after the other. @type {Promise<void>} */
  #work = Promise.resolve();

  /** An earlier worker may have left some, and knows no more which. @returns {Promise<void>} */
  async restore() {
    const settings = contentSettings();
    if (settings) await Promise.all(Object.values(TYPES).map((type) => settings[type].clear({})));
  }

  /** Of the same site the last one counts. @param {SitePermissions[]} all that is to be set, and nothing else @returns {Promise<void>} */
  apply(all) {
    const applied = this.#work.then(() => this.#apply(all));
    this.#work = applied.catch(console.debug);
    return applied;
  }

  /** @param {SitePermissions[]} all */
  async #apply(all) {
    const settings = contentSettings();
    if (!settings) return;
    for (const [name, type] of Object.entries(TYPES)) {
      const rules = all.flatMap(({ site, words }) => {
        const word = words[/** @type {SitePermission} */ (name)];
        return word === undefined ? [] : [{ primaryPattern: `${site}/*`, setting: word === 'deny' ? 'block' : word }];
      });
      const wanted = JSON.stringify(rules);
      if (wanted === (this.#set.get(type) ?? '[]')) continue;
      // There is no way to take away the setting for one site alone.
      await settings[type].clear({});
      this.#set.set(type, '[]');
      for (const rule of rules) await settings[type].set(rule);
      this.#set.set(type, wanted);
    }
  }
}

/** The browser gives the interface with the permission. @returns {Record<string, {clear: (details: object) => Promise<void>, set: (details: object) => Promise<void>}> | undefined} */
function contentSettings() {
  return /** @type {any} */ (chrome).contentSettings;
}

/** @param {string} message */
function wrong(message) {
  return new ActionError('invalid_params', message, undefined, { hint: 'Nothing is changed.', mayHaveRun: false });
}
