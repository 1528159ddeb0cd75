// @ts-check
// The last snapshots that clients were given, for the next difference, and for the name of an element that is gone.

import { readRefLine } from '../lib/ref_line.js';
import { SNAPSHOT_KEPT, SNAPSHOTS_MAX } from './limits.js';

/**
 * @typedef {object} KeptSnapshot
 * @property {number} tabId
 * @property {string} documentId
 * @property {string} options the parameters that it was taken with
 * @property {string[]} lines
 */

export class SnapshotMemory {
  /** @type {Map<string, KeptSnapshot>} the oldest first */
  #kept = new Map();

  /** @param {string} client @param {number} tabId */
  last(client, tabId) {
    return this.#kept.get(`${tabId} ${client}`);
  }

  /** @param {string} client @param {KeptSnapshot} snapshot */
  keep(client, snapshot) {
    let left = SNAPSHOT_KEPT;
    const most = snapshot.lines.findIndex((line) => (left -= line.length) < 0);
    const key = `${snapshot.tabId} ${client}`;
    this.#kept.delete(key);
    this.#kept.set(key, most < 0 ? snapshot : { ...snapshot, lines: snapshot.lines.slice(0, most) });
    if (this.#kept.size <= SNAPSHOTS_MAX) return;
    const [oldest] = this.#kept.keys();
    this.#kept.delete(oldest);
  }

  /** The role and name of an element that is not there any more. @param {number} tabId @param {string} ref @returns {{role: string, name: string} | null} */
  called(tabId, ref) {
    for (const { tabId: of, lines } of [...this.#kept.values()].reverse()) {
      if (of !== tabId) continue;
      for (const line of lines) {
        const known = readRefLine(line);
        if (known?.ref === ref) return { role: known.role, name: known.name };
      }
    }
    return null;
  }

  /** @param {number} tabId */
  handleRemoved(tabId) {
    for (const [key, { tabId: of }] of this.#kept) if (of === tabId) this.#kept.delete(key);
  }
}
