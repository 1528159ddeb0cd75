import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installActs } from '../support/fake_acts.js';

const { actions } = await import('../../src/actions/index.js');

let acts;
let world;

beforeEach(async () => {
  world = {};
  acts = await installActs(world);
});

const drop = () => actions.upload_file({ target: '#here', paths: ['/shop/cat.png'], drop: true }, {
  ...acts.context, requestFiles: async () => [{ name: 'cat.png', size: 3, path: '/copies/cat.png' }],
});
const dragged = () => acts.sent.filter(([method]) => method === 'Input.dispatchDragEvent').map(([, { type }]) => type);

test('files that are dropped are told as the page has got them', async () => {
  world.dragged = { takes: true, isDropped: true, files: [{ name: 'cat.png', size: 3, type: 'image/png' }] };
  const { value } = await drop();
  assert.deepEqual(value.files, [{ name: 'cat.png', size: 3, type: 'image/png' }]);
  assert.deepEqual(dragged(), ['dragEnter', 'dragOver', 'drop']);
});

test('a drop that the page does not take, or that is cancelled on its way, is taken back', async () => {
  world.dragged = { takes: false, isDropped: false, files: [] };
  await assert.rejects(drop(), { code: 'wrong_kind' });
  world.dragged = () => {
    acts.abort.abort(new Error('cancelled'));
    return { takes: true, isDropped: false, files: [] };
  };
  await assert.rejects(drop(), /cancelled/);
  assert.deepEqual(dragged(), ['dragEnter', 'dragOver', 'dragCancel', 'dragEnter', 'dragOver', 'dragCancel']);
});
