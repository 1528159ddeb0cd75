// @ts-check
// Clicks an element or a point.

/** @import {Context, Outcome} from '../../types/protocol.js' */
/** @import {LandedAct} from '../browser/targets.js' */

import { checkedChoice, checkedFlag, checkedInteger } from '../commands/params.js';
import { checkedPlace } from '../input/place.js';
import { CLICKED, clickTarget, landedOn, modifierBits } from '../input/pointer.js';
import { clickByScript } from '../input/quiet_click.js';
import { withInput } from '../input/session.js';
import { HOLD_MS } from './limits.js';

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function click({ button = 'left', doubleClick, modifiers, hold_ms = 0, wait = 'ready', snapshot, ...place }, context) {
  const where = checkedPlace(place);
  const manner = {
    button: checkedChoice('button', button, /** @type {const} */ (['left', 'right', 'middle'])), count: checkedFlag('doubleClick', doubleClick) ? 2 : 1,
    modifiers: await modifierBits(modifiers), holdMs: checkedInteger('hold_ms', hold_ms, HOLD_MS),
  };
  const atOnce = checkedChoice('wait', wait, /** @type {const} */ (['ready', 'none'])) === 'none';
  return withInput(context, { snapshot, hasScripts: true }, async (input) => {
    const found = await input.reach(where, { kind: 'click', atOnce });
    const { target, ...how } = await clickTarget(input, found, manner, { isFixed: atOnce || 'point' in where });
    const again = async (/** @type {LandedAct} */ after) => {
      if (input.scripted || how.input || !after.isPutBack || manner.holdMs > 0) return false;
      await clickByScript(input, target, manner);
      how.input = 'scripted';
      return true;
    };
    return {
      target, value: { clicked: target.label }, again,
      tell: (after) => ({ ...how, ...(how.input || input.scripted ? {} : landedOn(after, CLICKED[manner.button])), ...changedStates(target, after) }),
    };
  });
}

/** @param {import('../browser/targets.js').ReadyTarget} target @param {import('../browser/targets.js').LandedAct} after */
function changedStates(target, { checked, hasNewStates, isThere, states }) {
  if (!isThere || !hasNewStates) return {};
  if (checked !== undefined && checked !== target.checked) return { checked };
  return states.length > 0 ? { states: states.join(' ') } : {};
}
