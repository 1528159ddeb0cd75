import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installActs } from '../support/fake_acts.js';

const { actions } = await import('../../src/actions/index.js');

const buttons = ({ sent }) => sent.filter(([method, { type, button } = {}]) => method === 'Input.dispatchMouseEvent' && type !== 'mouseMoved' && button === 'left').map(([, { type, x, y }]) => [type, x, y]);

test('a path is drawn with the button held from its first point to its last', async () => {
  const acts = await installActs();
  const { value } = await actions.draw({ points: [[10, 10], [40, 20], [60, 30]] }, acts.context);
  assert.match(value.drawn, /^3 points on button "Here" /);
  assert.deepEqual(buttons(acts), [['mousePressed', 10, 10], ['mouseReleased', 60, 30]]);
});

test('a button that went down is let go, also if the move before it has failed', async () => {
  const acts = await installActs();
  const { sendCommand } = chrome.debugger;
  chrome.debugger.sendCommand = async (target, method, params) => {
    const answer = await sendCommand(target, method, params);
    if (params?.type === 'mouseMoved') throw new Error('Internal error');
    return answer;
  };
  await assert.rejects(actions.draw({ points: [[10, 10], [40, 20]] }, acts.context), { code: 'debugger_unavailable' });
  assert.deepEqual(buttons(acts), [['mousePressed', 10, 10], ['mouseReleased', 10, 10]]);
});
