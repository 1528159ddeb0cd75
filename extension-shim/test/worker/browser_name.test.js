// The name of a browser's profile: asked for once, when a second browser is there.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ProfileName } = await import('../../src/worker/browser_name.js');
const frame = (more) => ({ type: 'browser_name', label: 'Chromium on Linux', others: false, ...more });

beforeEach(() => installChrome());

test('the person is asked when a second browser is there, and not again once they named it', async () => {
  const name = new ProfileName();
  await name.restore();
  name.handleFrame(frame({}));
  assert.equal(name.isAsking, false, 'alone');
  name.handleFrame(frame({ others: true }));
  assert.equal(name.isAsking, true);
  const sent = [];
  name.send = (text) => sent.push(JSON.parse(text)) > 0;
  assert.equal(name.give(' work '), true);
  assert.deepEqual(sent, [{ type: 'name_browser', name: 'work' }]);
  name.handleFrame(frame({ name: 'work', label: 'work', others: true }));
  assert.equal(name.isAsking, false);
  assert.equal(name.view().browser_name, 'work');
});

test('who gives no name is not asked again, by the next worker neither', async () => {
  const name = new ProfileName();
  await name.restore();
  name.handleFrame(frame({ others: true }));
  await name.decline();
  assert.equal(name.isAsking, false);
  const next = new ProfileName();
  await next.restore();
  next.handleFrame(frame({ others: true }));
  assert.equal(next.isAsking, false);
});

test('the reason why a name was rejected stays when other browsers come and go', () => {
  const name = new ProfileName();
  name.handleFrame(frame({ others: true, problem: 'another browser is called `work`' }));
  name.handleFrame(frame({ others: false }));
  assert.match(name.view().name_problem, /is called/);
  name.handleFrame(frame({ name: 'home', label: 'home' }));
  assert.equal(name.view().name_problem, '');
  assert.equal(new ProfileName().give('x'), false, 'no daemon');
});

test('the name of the profile in the browser itself is offered until the person gives one', () => {
  const name = new ProfileName();
  name.handleFrame(frame({ others: true }));
  assert.equal(name.view().offered_name, '');
  name.handleFrame(frame({ others: true, offered: 'Ann (work)' }));
  assert.equal(name.view().offered_name, 'Ann (work)');
  name.handleFrame(frame({ name: 'work', label: 'work' }));
  assert.equal(name.view().offered_name, '');
  name.forget();
  assert.equal(name.view().offered_name, '');
});
