// A tab of the person is closed with their word alone: which commands close one, and which word fits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ConsentNeeded } = await import('../../src/lib/consent.js');
const { askBeforeClosing, closesItsTab } = await import('../../src/policy/closing.js');
const { AgentTabs } = await import('../../src/browser/agent_tabs.js');

const SHOP = 'https://shop.example';
const NEED = { kind: 'close', site: SHOP, detail: 'tab 7', document: 'd1' };
const command = (over = {}) => ({ type: 'tab_close', params: {}, tab_id: 7, ...over });
const ask = (asked, tab = {}, document = 'd1', so = {}) => askBeforeClosing(asked, { id: 7, url: `${SHOP}/cart`, ...tab }, document, so);
const needs = (wanted) => (error) => {
  assert.ok(error instanceof ConsentNeeded, String(error));
  assert.deepEqual(error.need, wanted);
  return true;
};

test('a batch closes its tab by a step that names it or none', () => {
  const batch = (...steps) => command({ type: 'batch', params: { steps } });
  assert.ok(closesItsTab(command()));
  assert.ok(closesItsTab(batch({ action: 'click' }, { action: 'tab_close' })));
  assert.ok(closesItsTab(batch({ action: 'tab_close', tab_id: 7 })));
  assert.ok(!closesItsTab(batch({ action: 'tab_close', tab_id: '{{opened.tab_id}}' })));
  assert.ok(!closesItsTab(batch({ action: 'click' }, null)));
  assert.ok(!closesItsTab(command({ type: 'click' })));
  assert.ok(!closesItsTab(command({ type: 'batch', params: { steps: 'tab_close' } })));
});

test('without a word the person is asked, also for a tab that shows nothing yet', () => {
  assert.throws(() => ask(command()), needs(NEED));
  assert.throws(() => ask(command(), { url: '', pendingUrl: `${SHOP}/` }, ''), needs({ kind: 'close', site: SHOP, detail: 'tab 7' }));
  assert.throws(() => ask(command(), { url: undefined }, ''), needs({ kind: 'close', site: 'no site:', detail: 'tab 7' }));
});

test('a word for once is for this tab and its document, a word about acts is none about closing', () => {
  const allowed = (over) => command({ allowed: [{ ...NEED, ...over }] });
  ask(allowed({}));
  for (const over of [{ detail: 'tab 8' }, { document: 'd0' }]) assert.throws(() => ask(allowed(over)), { code: 'consent_stale' });
  assert.throws(() => ask(allowed({ kind: 'act' })), needs(NEED));
  const known = (over) => command({ consents: [{ kind: 'close', site: SHOP, allowed: true, ...over }] });
  ask(known({}));
  assert.throws(() => ask(known({ kind: 'act' })), needs(NEED));
  assert.throws(() => ask(known({ allowed: false })), { code: 'denied_by_user' });
});

test('a tab is the agents’ from its opening, through a restart of the worker, until the person makes it theirs', async () => {
  installChrome();
  const groups = { restore: async () => {}, handleRemoved() {}, follow() {} };
  const make = () => new AgentTabs(/** @type {any} */ ({}), /** @type {any} */ ({}), /** @type {any} */ (groups));
  const first = make();
  assert.ok(!first.isAgents(7) && !first.isAgents(undefined));
  first.noteOpened(7);
  first.noteOpened(8);
  const second = make();
  await second.restore();
  assert.ok(second.isAgents(7));
  second.handleReplaced(17, 7);
  assert.ok(second.isAgents(17) && !second.isAgents(7));
  second.handleReplaced(7, 17);
  second.handleReplaced(6, 5);
  assert.ok(!second.isAgents(6));
  second.keep(7);
  assert.ok(!second.isAgents(7));
  second.handleRemoved(8, 1);
  assert.ok(!second.isAgents(8));
  const third = make();
  await third.restore();
  assert.ok(!third.isAgents(7) && !third.isAgents(8));
  third.handleList([{ tab_id: 9, client: 'x', client_id: 'c' }]);
  assert.ok(third.isAgents(9));
});
