// @ts-check
// The common part of the commands that read a page through the debugger, or take a picture of it.

/** @import {Context, Dialog} from '../../types/protocol.js' */
/** @import {ScriptedWay} from './scripted_way.js' */

import { ActionError, executionTimeout } from '../lib/errors.js';
import { assertReachable } from '../policy/pages.js';
import { commandError } from './debugger.js';
import { meetDialogs } from './dialogs.js';
import { chosenWay } from './scripted_way.js';
import { assertPage, assertSeen } from './site_guard.js';
import { tabs } from './state.js';
import { endWait } from './unstick.js';

/**
 * Runs while the debugger is attached to the tab that a command is for, and its dialogs are met. A run that takes
 * too long is abandoned, and the page goes on.
 * @template T @param {Context} context @param {(tabId: number, scripted: ScriptedWay | null) => Promise<T>} run
 * @param {{hasScripts?: boolean}} [so] `hasScripts`: it can do without the debugger, and is told if it has to
 * @returns {Promise<{value: T, dialogs: Dialog[]}>}
 */
export async function withAttachedPage(context, run, { hasScripts = false } = {}) {
  const { tab_id, timeout_ms, onStop } = context;
  const tab = await tabs.target(tab_id);
  const { id } = tab;
  assertReachable(tab);
  const startedAt = performance.now();
  onStop((why) => endWait(id, why));
  const scripted = await chosenWay(tab, hasScripts);
  const watcher = { dialogs: [] };
  try {
    return { value: await meetDialogs(context, id, watcher, () => run(id, scripted)), dialogs: watcher.dialogs };
  } catch (error) {
    if (error instanceof ActionError) throw error;
    if (performance.now() - startedAt >= timeout_ms) throw executionTimeout(timeout_ms);
    throw await commandError(error, id, await tabs.isOpen(id));
  }
}

/**
 * The same for a look, with the site rules before and after it: another page may have come meanwhile, and may be the one
 * that was read.
 * @template T @param {Context} context @param {(tabId: number) => Promise<T>} look
 * @returns {Promise<{value: T, url: string, dialogs: Dialog[]}>}
 */
export async function lookAtPage(context, look) {
  const { value: seen, dialogs } = await withAttachedPage(context, async (tabId) => {
    await assertPage(tabId);
    context.begin();
    const value = await look(tabId);
    return { value, url: await assertSeen(tabId) };
  });
  return { ...seen, dialogs };
}
