import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { WorldContexts } from '../../src/browser/world_contexts.js';
import { installChrome } from '../support/fakes.js';

const TAB = 7;
let contexts;
let asked;
let answers;

beforeEach(() => {
  installChrome();
  contexts = new WorldContexts();
  asked = [];
  answers = {};
  chrome.runtime = { ...chrome.runtime, id: 'ours' };
  chrome.debugger = {
    async sendCommand({ sessionId }, method, params) {
      asked.push([method, sessionId, params]);
      return answers[method]?.(params, sessionId) ?? {};
    },
  };
});

const created = (id, { origin = 'chrome-extension://ours', sessionId, frameId = 'F' } = {}) =>
  contexts.handleEvent({ tabId: TAB, sessionId }, 'Runtime.executionContextCreated', { context: { id, uniqueId: `u${id}`, origin, auxData: { frameId, type: 'isolated' } } });
const fetched = async (secret = 's') => {
  const found = await contexts.fetch(TAB, secret);
  return found && [found.context.sessionId, found.context.id];
};
const evaluated = () => asked.filter(([method]) => method === 'Runtime.evaluate').map(([, sessionId, { uniqueContextId }]) => [sessionId, uniqueContextId]);

test('an element comes from our own world only, in whichever frame it is', async () => {
  created(1, { origin: 'http://page.test' });
  created(2, { origin: 'chrome-extension://another' });
  created(3);
  created(4, { sessionId: 'frame', frameId: 'G' });
  answers['Runtime.evaluate'] = ({ uniqueContextId }) => ({ result: uniqueContextId === 'u4' ? { objectId: 'field' } : { type: 'object', subtype: 'null' } });
  assert.deepEqual(await fetched(), ['frame', 4]);
  assert.deepEqual(evaluated(), [[undefined, 'u3'], ['frame', 'u4']]);
});

test('worlds of documents that are gone are not asked', async () => {
  created(3);
  created(4);
  created(5, { sessionId: 'frame' });
  contexts.handleEvent({ tabId: TAB }, 'Runtime.executionContextDestroyed', { executionContextId: 3 });
  contexts.handleEvent({ tabId: TAB }, 'Target.detachedFromTarget', { sessionId: 'frame' });
  assert.equal(await fetched(), null);
  assert.deepEqual(evaluated(), [[undefined, 'u4']]);
  contexts.handleEvent({ tabId: TAB }, 'Runtime.executionContextsCleared', {});
  contexts.handleDetach(TAB);
  assert.equal(await fetched(), null);
  assert.equal(evaluated().length, 1);
});

test('what is switched on for an upload is switched off after it, also if it fails', async () => {
  await assert.rejects(contexts.during(TAB, async () => { throw new Error('x'); }), /x/);
  const methods = asked.map(([method, , params]) => [method, params?.autoAttach]);
  assert.deepEqual(methods, [
    ['Runtime.enable', undefined], ['Runtime.disable', undefined], ['Runtime.enable', undefined], ['Target.setAutoAttach', true], ['Target.setAutoAttach', false], ['Runtime.disable', undefined],
  ]);
});

test('a chooser that the page opens is not shown, and one that it does not open is not waited for without end', async () => {
  const { signal } = new AbortController();
  const chosen = { frameId: 'F', mode: 'selectSingle', backendNodeId: 3 };
  const opened = contexts.chooserDuring(TAB, async () => contexts.handleEvent({ tabId: TAB }, 'Page.fileChooserOpened', chosen), 1_000, signal);
  assert.deepEqual(await opened, { sessionId: undefined, ...chosen });
  assert.equal(await contexts.chooserDuring(TAB, async () => {}, 1, signal), null);
  const ended = new AbortController();
  await assert.rejects(contexts.chooserDuring(TAB, async () => { ended.abort(new Error('cancelled')); }, 1_000, ended.signal), /cancelled/);
  assert.deepEqual(asked.map(([method, , { enabled }]) => [method, enabled]), [true, true, true].map((on) => ['Page.setInterceptFileChooserDialog', on]));
});
