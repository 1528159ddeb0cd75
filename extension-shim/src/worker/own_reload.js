// @ts-check
// Loads this extension anew, once Tabwire has renewed its files and the daemon has compared each of them. The daemon's word
// alone is not enough: the browser may have loaded another folder.

/** @import {ReloadFrame} from '../../types/protocol.js' */

import { pause } from '../lib/pause.js';
import { handOn, keepHere } from '../lib/session_items.js';

const KEY = 'own_reload';
/** Often enough that nobody waits for it. */
const LOOK_MS = 500;
/** Between two commands an agent thinks for a moment: this long nothing has run. */
const QUIET_LOOKS = 4;

export class OwnReload {
  #isUnderWay = false;
  /** Whether something is under way or open that a reload would end. @type {() => boolean} */
  isBusy = () => true;
  /** Ends the connection, so that no command comes any more. */
  leave = () => {};

  /** @param {ReloadFrame} frame */
  handleFrame({ version }) {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#reload(version).catch(console.warn).finally(() => { this.#isUnderWay = false; });
  }

  /** @param {string} version */
  async #reload(version) {
    const { version: from } = chrome.runtime.getManifest();
    const { installType } = await chrome.management.getSelf();
    // A store brings its own updates.
    if (installType !== 'development' || from === version) return;
    const last = /** @type {{from?: string, to?: string} | undefined} */ ((await chrome.storage.local.get(KEY))[KEY]);
    // It did not bring that version: again and again would not either.
    if (last?.from === from && last?.to === version) return;
    for (;;) {
      await this.#quiet();
      // After the wait, in which the folder may have been renewed once more.
      if (await versionOnDisk() !== version) return;
      await handOn();
      await chrome.storage.local.set({ [KEY]: { from, to: version } });
      // Nothing is awaited between this look, the end of the connection and the reload: no command can begin.
      if (!this.isBusy()) break;
      await Promise.all([keepHere(), chrome.storage.local.remove(KEY)]);
    }
    this.leave();
    chrome.runtime.reload();
  }

  async #quiet() {
    for (let quiet = 0; quiet < QUIET_LOOKS; quiet += 1) {
      await pause(LOOK_MS);
      if (this.isBusy() || await isAnyPageOpen()) quiet = -1;
    }
  }
}

/** The browser reads the files of an unpacked extension anew each time. @returns {Promise<unknown>} */
async function versionOnDisk() {
  const response = await fetch(chrome.runtime.getURL('manifest.json'), { cache: 'no-store' });
  return (await response.json()).version;
}

/** Whether the person looks at the popup or draws: a reload would close it. */
async function isAnyPageOpen() {
  const contexts = await chrome.runtime.getContexts({});
  return contexts.some(({ contextType }) => contextType !== 'BACKGROUND');
}
