// The owners on other machines in the worker: asked for while somebody looks, changed by a click, and forgotten with the daemon.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { FarOwners } = await import('../../src/worker/far_owners.js');
const { farLine, troubleLine } = await import('../../popup/popup_view.js');
const BOX = { owner: 'box~0123', calls: 2, suspended: false };
const NONE = { far_owners: [], tenant_troubles: [], far_problem: '' };
const TROUBLE = { tenant: 'acme', says: 'takes no calls as place qa: no NATS server answers', do: 'run `tabwire-fleet doctor`' };

/** @returns {{owners: any, sent: any[]}} */
function connected() {
  const [owners, sent] = [new FarOwners(), []];
  owners.send = (text) => sent.push(JSON.parse(text)) > 0;
  return { owners, sent };
}

test('a look asks the daemon, and not again before the answer is old', () => {
  const { owners, sent } = connected();
  assert.deepEqual(owners.view(), NONE);
  owners.handleFrame({ type: 'far_owners', owners: [BOX] });
  assert.deepEqual(owners.view(), { ...NONE, far_owners: [BOX] });
  assert.deepEqual(sent, [{ type: 'far_owners' }]);
});

test('a change names the very owner that the person saw, and nothing else; why it does not count is told', () => {
  const { owners, sent } = connected();
  assert.ok(owners.change({ owner: BOX.owner, allowed: false, type: 'ask_answer' }));
  assert.deepEqual(sent, [{ type: 'far_owners', change: { owner: 'box~0123', allowed: false } }]);
  owners.handleFrame({ type: 'far_owners', owners: [BOX], problem: 'there is no owner box' });
  assert.equal(owners.view().far_problem, 'there is no owner box');
});

test('teams in trouble are there as long as the daemon names them, each with its next step', () => {
  const { owners } = connected();
  owners.handleFrame({ type: 'far_owners', owners: [], troubles: [TROUBLE] });
  assert.deepEqual(owners.view(), { ...NONE, tenant_troubles: [TROUBLE] });
  assert.deepEqual(troubleLine(TROUBLE), { says: 'acme: takes no calls as place qa: no NATS server answers', next: 'Run `tabwire-fleet doctor`.' });
  owners.handleFrame({ type: 'far_owners', owners: [] });
  assert.deepEqual(owners.view(), NONE);
});

test('without a daemon no owner is known or changed, and the next look asks again', () => {
  const owners = new FarOwners();
  owners.handleFrame({ type: 'far_owners', owners: [BOX] });
  owners.forget();
  assert.deepEqual(owners.view(), NONE);
  assert.equal(owners.change({ owner: BOX.owner, allowed: true }), false);
  let asked = 0;
  owners.send = () => (asked += 1) > 0;
  owners.view();
  assert.equal(asked, 1);
});

test('a line names the machine, how much goes on, and the button that ends or allows it', () => {
  const line = (over) => farLine({ ...BOX, ...over });
  assert.deepEqual(line({}), { says: 'agents on box: 2 calls', note: '', button: 'Disconnect' });
  assert.deepEqual(line({ calls: 1, label: 'The big one' }), { says: 'agents on box: 1 call', note: 'The big one', button: 'Disconnect' });
  assert.deepEqual(line({ calls: 0, suspended: true }), { says: 'agents on box: disconnected', note: '', button: 'Let in again' });
  assert.equal(line({ owner: 'ci@acme~0123' }).says, 'acme: ci, 2 calls');
  assert.equal(line({ owner: 'ci@acme~0123', suspended: true }).says, 'acme: ci, disconnected');
});
