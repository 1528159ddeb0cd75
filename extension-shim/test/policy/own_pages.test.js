// Tabwire's own pages, by the table that the daemon's tests read too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome, ownPageVectors } from '../support/fakes.js';

installChrome();
const { OwnPages } = await import('../../src/policy/own_pages.js');
const { Policy } = await import('../../src/policy/policy.js');

const { own, others } = ownPageVectors();
const named = (url) => url.replace('EXTENSION', 'ours');
const refused = (ran) => (error) => error.code === 'tabwire_page' && error.more.mayHaveRun === ran;

/** @param {object} rules that the person has set */
function policyWith(rules) {
  const policy = new Policy();
  policy.own.setPort(7890);
  policy.handleRules({ type: 'site_rules', allow: [], deny: [], ...rules });
  return policy;
}

test('every spelling of an own page is known, and no other page is taken for one', () => {
  const pages = new OwnPages();
  assert.equal(pages.covers('http://127.0.0.1:7890/'), false, 'before a daemon has proven its port');
  pages.setPort(7890);
  for (const url of own) assert.equal(pages.covers(named(url)), true, url);
  for (const url of others) assert.equal(pages.covers(named(url)), false, url);
});

test('no rule opens an own page: it is refused as a page, as a target, as an owner of an empty page and in a batch', async () => {
  const tab = { url: 'https://a.example/' };
  for (const rules of [{}, { allow: ['127.0.0.1', 'localhost', '127.0.0.1:7890'] }]) {
    const policy = policyWith(rules);
    for (const url of own.map(named)) {
      assert.equal(policy.blocks(url), true, url);
      assert.throws(() => policy.assertUrl(url, { ran: true }), refused(true), url);
      for (const params of [{ url }, { steps: [{ action: 'navigate', url }] }]) {
        const command = { type: params.url ? 'navigate' : 'batch', params, tab_id: 7 };
        assert.equal(policy.isOpenFor(command, tab), false, url);
        if (rules.allow) continue;
        await assert.rejects(policy.check(command, async () => tab), refused(false), url);
      }
      const inIt = { type: 'execute_js', params: {}, tab_id: 7 };
      for (const shown of [{ url }, { url: tab.url, pendingUrl: url }]) {
        assert.equal(policy.isOpenFor(inIt, shown), false, url);
        await assert.rejects(policy.check(inIt, async () => shown), refused(false), url);
      }
    }
    assert.equal(policy.blocksPage('about:blank', 'http://127.0.0.1:7890'), true);
    await assert.rejects(policy.admitOwner('http://localhost:7890'), refused(false));
  }
});
