// Which documents a script of an agent may have touched.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ScriptedSites } = await import('../../src/browser/scripted_sites.js');

let sites;
/** When a document came, and its origin. */
const documentThat = (came, origin = 'https://a.test') => { chrome.scripting = { executeScript: async () => [{ result: { came, origin } }] }; };
const touched = (url, more = {}) => sites.touched(7, { frameId: 0, parentFrameId: -1, documentId: 'D', url, ...more });

beforeEach(() => {
  installChrome();
  mock.timers.reset();
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000 });
  sites = new ScriptedSites();
});

test('a document that came before a script of its host may have been touched, and no other', async () => {
  documentThat(900);
  assert.equal(await touched('https://a.test/1'), null);
  sites.note('https://a.test/2');
  assert.equal(await touched('https://a.test/1'), 'https://a.test/1');
  assert.equal(await touched('https://a.test:8443/1'), null);
  documentThat(1_001);
  assert.equal(await touched('https://a.test/1'), null, 'it came after the script');
  // A rule answers one of its requests later.
  mock.timers.setTime(2_000);
  sites.note('https://a.test');
  assert.equal(await touched('https://a.test/1'), 'https://a.test/1');
});

test('an empty frame, and one of a blob, is judged by the site that has made it', async () => {
  sites.note('https://a.test/');
  documentThat(900);
  assert.equal(await touched('about:blank'), 'https://a.test');
  assert.equal(await touched('blob:https://a.test/77'), 'blob:https://a.test/77');
  documentThat(2_000);
  assert.equal(await touched('about:blank'), 'https://a.test', 'a script may have made it after it was noted');
  const around = { frameId: 0, parentFrameId: -1, documentId: 'P', url: 'https://a.test/around' };
  const came = { D: 2_000, P: 900 };
  chrome.scripting = { executeScript: async ({ target: { documentIds: [id] } }) => [{ result: { came: came[id], origin: 'null' } }] };
  const frame = (url) => touched(url, { frameId: 4, parentFrameId: 0, around });
  assert.equal(await frame('about:srcdoc'), 'https://a.test/around', 'made by a script, or by one that it has left in the page around it');
  assert.equal(await frame('https://a.test/inner'), 'https://a.test/inner');
  assert.equal(await frame('https://b.test/inner'), null);
  came.P = 2_000;
  assert.equal(await frame('about:srcdoc'), null);
});

test('a script of a page without a host may have touched any document, and a silent document counts as touched', async () => {
  sites.note('about:blank');
  documentThat(900);
  assert.equal(await touched('https://b.test/'), 'https://b.test/');
  sites = new ScriptedSites();
  sites.note('https://a.test/');
  chrome.scripting = { executeScript: () => new Promise(() => {}) };
  const answer = touched('https://a.test/');
  await new Promise((resolve) => { setImmediate(resolve); });
  mock.timers.tick(60_000);
  assert.equal(await answer, 'https://a.test/');
});

test('of scripts in a row one a second is written down, and the next worker takes no document that one may have touched for another', async () => {
  const written = [];
  const set = chrome.storage.session.set.bind(chrome.storage.session);
  chrome.storage.session.set = async (items) => { written.push(items); await set(items); };
  for (let now = 1_000; now < 3_500; now += 100) {
    mock.timers.setTime(now);
    sites.note('https://a.test/');
    const next = new ScriptedSites();
    for (const came of [now - 1, now]) {
      documentThat(came);
      assert.equal(await next.touched(7, { frameId: 0, parentFrameId: -1, documentId: 'D', url: 'https://a.test/' }), 'https://a.test/', `${came} at ${now}`);
    }
  }
  assert.equal(written.length, 3);
  sites.note('https://b.test/');
  assert.equal(written.length, 4, 'another host');
});
