// @ts-check
// Records what an agent does in a tab as steps that can be run again.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {RecordedStep} from '../browser/step_recordings.js' */

import { lastingTarget } from '../browser/lasting_targets.js';
import { documentsOf } from '../browser/page_world.js';
import { stepRecordings, tabs } from '../browser/state.js';
import { AT_FOCUS, AT_POINT, targetKey } from '../browser/step_recordings.js';
import { parseTarget } from '../browser/target_query.js';
import { checkedChoice } from '../commands/params.js';
import { StepWriter } from '../commands/recorded_steps.js';
import { callScript, playwrightTest } from '../commands/step_formats.js';
import { SECRET_TABLE, Secrets } from '../injected/secrets.js';
import { ActionError } from '../lib/errors.js';
import { assertReachable, originOf } from '../policy/pages.js';

stepRecordings.describe = lastingTarget;

const secrets = new Secrets(SECRET_TABLE);
/** The values that were hidden in each tab: with this worker they are gone. @type {Map<number, Map<string, string>>} */
const hidden = new Map();

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function record({ phase, as = 'batch' }, { tab_id, clientId: client = '', begin }) {
  const end = checkedChoice('phase', phase, ['start', 'stop']);
  const form = checkedChoice('as', as, ['batch', 'playwright', 'call']);
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  // Refused on a site that agents may not use.
  const { url } = await documentsOf(tab.id);
  await stepRecordings.restore();
  const known = stepRecordings.of(tab.id);
  if (known && known.client !== client) throw new ActionError('invalid_params', 'another agent records this tab', undefined, { mayHaveRun: false, hint: 'Record in a tab of your own: tab_open.' });
  begin();
  if (end === 'start') {
    hidden.set(tab.id, new Map());
    /** @type {RecordedStep[]} */
    const steps = /^https?:/.test(url) ? [{ action: 'navigate', url }] : [];
    stepRecordings.open(tab.id, { client, steps, params: [], left_out: [] });
    return { value: { recording: true, next: 'Act in the tab, then call record with phase stop.' }, type: 'object', origin: originOf(url) };
  }
  if (!known) throw new ActionError('invalid_params', 'nothing is recorded in this tab', undefined, { mayHaveRun: false, hint: 'Call record with phase start before the acts.' });
  stepRecordings.close(tab.id);
  hidden.delete(tab.id);
  const { steps, params, left_out } = known;
  const told = form === 'batch' ? { steps } : { script: form === 'playwright' ? playwrightTest(steps, params) : callScript(steps, params) };
  const more = { ...(params.length > 0 && { params }), ...(left_out.length > 0 && { left_out }) };
  return { value: { ...told, ...more }, type: 'object', origin: originOf(url) };
}

/** An act of an agent has succeeded. @param {{type: string, tab_id?: number, client_id?: string, params?: any}} command @param {Outcome} outcome */
export function recordAct({ type, tab_id: tabId, client_id: client = '', params = {} }, { value }) {
  const recording = tabId === undefined ? undefined : stepRecordings.of(tabId);
  if (!recording || tabId === undefined || recording.client !== client) return;
  const known = hidden.get(tabId) ?? new Map();
  hidden.set(tabId, known);
  const writer = new StepWriter(recording, {
    keyOf: (target) => targetKey(parseTarget(target)), isRef: (target) => 'ref' in parseTarget(target),
    atPoint: AT_POINT, atFocus: AT_FOCUS, isCardNumber: (text) => secrets.isCardNumber(text),
  }, known);
  if (writer.add({ type, params, seen: stepRecordings.seen(tabId), value })) stepRecordings.keep();
}
