// @ts-check
// Records what an agent, or the person, does in a tab as steps that can be run again.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {RecordedStep, StepRecording} from '../browser/step_recordings.js' */

import { lastingTarget } from '../browser/lasting_targets.js';
import { documentsOf } from '../browser/page_world.js';
import { personRecordings } from '../browser/person_recordings.js';
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
export async function record({ phase, as = 'batch', by = 'agent' }, context) {
  const { tab_id, clientId: client = '', begin } = context;
  const end = checkedChoice('phase', phase, ['start', 'stop']);
  const form = checkedChoice('as', as, ['batch', 'playwright', 'call']);
  const actor = checkedChoice('by', by, ['agent', 'person']);
  const tab = await tabs.target(tab_id);
  assertReachable(tab);
  // Refused on a site that agents may not use.
  const { url } = await documentsOf(tab.id);
  await personRecordings.restore();
  await personRecordings.settled(tab.id);
  const known = stepRecordings.of(tab.id);
  assertOwn(tab.id, client, end === 'start');
  if (end === 'start' && actor === 'person') {
    // The person's word is on this client and on the site of this page.
    context.admitAct(url);
    begin();
    hidden.delete(tab.id);
    await personRecordings.start(tab.id, { client, name: context.client, url });
    return { value: { recording: true, next: 'Ask the user to show it (ask_user), then call record with phase stop.' }, type: 'object', origin: originOf(url) };
  }
  begin();
  if (end === 'start') {
    await personRecordings.discard(tab.id);
    hidden.set(tab.id, new Map());
    /** @type {RecordedStep[]} */
    const steps = /^https?:/.test(url) ? [{ action: 'navigate', url }] : [];
    stepRecordings.open(tab.id, { client, steps, params: [], left_out: [] });
    return { value: { recording: true, next: 'Act in the tab, then call record with phase stop.' }, type: 'object', origin: originOf(url) };
  }
  if (!known) throw new ActionError('invalid_params', 'nothing is recorded in this tab', undefined, { mayHaveRun: false, hint: 'Call record with phase start before the acts.' });
  return { value: told(await closed(tab.id, known), form), type: 'object', origin: originOf(url) };
}

/** @param {number} tabId @param {StepRecording} known @returns {Promise<StepRecording>} */
async function closed(tabId, known) {
  await personRecordings.discard(tabId);
  stepRecordings.close(tabId);
  hidden.delete(tabId);
  return known;
}

/** @param {StepRecording} recording @param {'batch' | 'playwright' | 'call'} form */
function told({ steps, params, left_out, person }, form) {
  const forms = form === 'batch' ? { steps } : { script: form === 'playwright' ? playwrightTest(steps, params) : callScript(steps, params) };
  const more = { ...(params.length > 0 && { params }), ...(left_out.length > 0 && { left_out }) };
  return { ...forms, ...more, ...(person?.ended && { ended: person.ended }) };
}

/**
 * Nobody is asked about a recording that cannot be.
 * @param {number | undefined} tabId @param {string} client @param {boolean} isStart one that has ended makes place for another one
 */
export function assertOwn(tabId, client, isStart) {
  const known = tabId === undefined ? undefined : stepRecordings.of(tabId);
  const isFree = !known || known.client === client || isStart && known.person?.ended !== undefined;
  if (!isFree) throw new ActionError('invalid_params', `another agent records this tab${isStart ? '' : ', or has recorded it'}`, undefined, { mayHaveRun: false, hint: 'Record in a tab of your own: tab_open.' });
}

/** An act of an agent has succeeded. @param {{type: string, tab_id?: number, client_id?: string, params?: any}} command @param {Outcome} outcome */
export function recordAct({ type, tab_id: tabId, client_id: client = '', params = {} }, { value }) {
  const recording = tabId === undefined ? undefined : stepRecordings.of(tabId);
  if (!recording || tabId === undefined || recording.client !== client || recording.person) return;
  const known = hidden.get(tabId) ?? new Map();
  hidden.set(tabId, known);
  const writer = new StepWriter(recording, {
    keyOf: (target) => targetKey(parseTarget(target)), isRef: (target) => 'ref' in parseTarget(target),
    atPoint: AT_POINT, atFocus: AT_FOCUS, isCardNumber: (text) => secrets.isCardNumber(text),
  }, known);
  if (writer.add({ type, params, seen: stepRecordings.seen(tabId), value })) stepRecordings.keep();
}
