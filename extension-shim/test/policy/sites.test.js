// Which URLs a rule is about, by the table that the daemon's tests read too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actKind } from '../../src/policy/acts.js';
import { actBlockOf, blockOf, fileIn, hidesOwner, isOpen, parsePattern } from '../../src/policy/sites.js';
import { siteVectors } from '../support/fakes.js';

const { patterns, no_patterns, cases } = siteVectors();
const isBlocked = (rules, url) => blockOf(rules, url) !== null;

test('what the daemon takes for a pattern is one here, and means what it was kept as', () => {
  for (const [given, kept] of patterns) {
    assert.notEqual(parsePattern(given), null, given);
    assert.deepEqual(parsePattern(given), parsePattern(kept), given);
  }
});

for (const given of no_patterns) {
  test(`${JSON.stringify(given)} is no pattern`, () => assert.equal(parsePattern(given), null));
}

for (const { rules, allowed, denied } of cases) {
  const name = JSON.stringify(rules);
  for (const url of allowed) test(`${name} allows ${JSON.stringify(url)}`, () => assert.equal(isBlocked(rules, url), false));
  for (const url of denied) test(`${name} denies ${JSON.stringify(url)}`, () => assert.equal(isBlocked(rules, url), true));
}

test('deny always wins: whatever is allowed besides, what was denied stays denied', () => {
  const allows = patterns.map(([given]) => given);
  for (const { rules, denied } of cases.filter(({ rules: { allow } }) => allow.length === 0)) {
    for (const url of denied) assert.equal(isBlocked({ allow: allows, deny: rules.deny }, url), true, url);
  }
});

test('to deny more never opens anything', () => {
  for (const { rules, allowed, denied } of cases) {
    for (const [more] of patterns) {
      const tighter = { ...rules, deny: [...rules.deny, more] };
      for (const url of denied) assert.equal(isBlocked(tighter, url), true, `${more} ${url}`);
      for (const url of allowed) if (!isBlocked(tighter, url)) assert.equal(isBlocked(rules, url), false);
    }
  }
});

test('a pattern that cannot be read denies everything and allows nothing', () => {
  assert.equal(isBlocked({ allow: [], deny: ['?'] }, 'https://example.com/'), true);
  assert.equal(isBlocked({ allow: ['?'], deny: [] }, 'https://example.com/'), true);
});

test('a block names the host and the rule', () => {
  assert.deepEqual(blockOf({ allow: [], deny: ['example.com'] }, 'https://u:p@Sub.Example.com/secret'),
    { host: 'sub.example.com', rule: 'the deny rule example.com' });
  assert.match(blockOf({ allow: ['example.com'], deny: [] }, 'data:text/html,secret').host, /^a data: page$/);
});

test('a local file is known behind what shows or holds it, without query and fragment', () => {
  for (const [url, file] of [
    ['file:///home/me/a%20b.html?q#f', 'file:///home/me/a%20b.html'],
    ['FILE:/etc/passwd', 'file:///etc/passwd'],
    ['file://localhost/etc/passwd', 'file:///etc/passwd'],
    ['fi\nle:///etc/passwd', 'file:///etc/passwd'],
    ['file:///site/../etc/passwd', 'file:///etc/passwd'],
    ['file:///site/%2e%2e/etc/passwd', 'file:///etc/passwd'],
    ['view-source:file:///etc/passwd', 'file:///etc/passwd'],
    ['blob:file:///0b-1', 'file:///0b-1'],
    ['filesystem:file:///temporary/x', 'file:///temporary/x'],
    ['\u0001view-\tsource:file:///etc/passwd', 'file:///etc/passwd'],
    ['view-source:\nblob:FILE:/etc/passwd', 'file:///etc/passwd'],
    ['file://host/share', 'file://host/share'],
  ]) assert.equal(fileIn(url), file, url);
  for (const url of ['https://example.com/?file:///etc/passwd', 'about:blank', 'blob:null/0b-1', 'data:text/html,file:///', '', 'no url']) assert.equal(fileIn(url), null, url);
});

test('a page hides its owner if its URL names none', () => {
  for (const url of ['about:blank', 'about:srcdoc', 'blob:null/0b-1']) assert.equal(hidesOwner(url), true, url);
  for (const url of ['blob:https://example.com/0b-1', 'file:///x', 'https://example.com/blob:null/', 'data:,']) assert.equal(hidesOwner(url), false, url);
});

test('a rule about acts forbids them on its sites, scripts by every way, and nothing else', () => {
  const rules = { allow: [], deny: [], read: ['bank.example'], deny_actions: [{ action: 'execute_js', pattern: '*.corp.example' }] };
  const isBlocked = (type, url, params = {}) => actBlockOf(rules, actKind(type, params), url) !== null;
  for (const act of ['click', 'type', 'execute_js', 'upload_file', 'call_page_tool']) assert.ok(isBlocked(act, 'https://www.bank.example/pay'), act);
  assert.ok(isBlocked('wait_for', 'https://bank.example/', { function: 'pay()' }));
  for (const around of ['navigate', 'refresh', 'tab_close', 'snapshot', 'screenshot', 'wait_for']) assert.ok(!isBlocked(around, 'https://bank.example/'), around);
  for (const script of ['execute_js', 'call_page_tool']) assert.ok(isBlocked(script, 'https://a.corp.example/'), script);
  assert.ok(isBlocked('wait_for', 'https://a.corp.example/', { function: '1' }));
  assert.ok(!isBlocked('click', 'https://a.corp.example/') && !isBlocked('execute_js', 'https://corp.example/'));
  assert.ok(!isBlocked('click', 'https://other.example/') && !isBlocked('click', 'about:blank'));
  assert.ok(!isOpen(rules) && isOpen({ allow: [], deny: [], read: [], deny_actions: [] }));
  assert.match(actBlockOf(rules, actKind('click', {}), 'https://bank.example/').rule, /bank\.example.*read there and not act/);
});
