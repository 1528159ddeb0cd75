// The costs that a trace tells, and the parts that are taken out of it before anybody reads it.

import assert from 'node:assert/strict';
import test from 'node:test';

import { cleanedTrace } from '../../src/analysis/trace_cleaning.js';
import { summarizeTrace } from '../../src/analysis/trace_costs.js';
import { installChrome } from '../support/fakes.js';

installChrome();
const { handleEvent } = await import('../../src/browser/debugger.js');
const { traces } = await import('../../src/analysis/trace_recording.js');

const main = { name: 'thread_name', ph: 'M', ts: 0, pid: 1, tid: 1, args: { name: 'CrRendererMain' } };
const at = (name, ts, dur, data, tid = 1) => ({ name, ph: 'X', ts, dur, pid: 1, tid, args: { data } });

test('each event has the time that no event in it has, and the three largest are named', () => {
  const told = summarizeTrace([
    main,
    at('RunTask', 1_000, 100_000),
    at('FunctionCall', 2_000, 90_000, { url: 'http://a/1.js', functionName: 'draw', lineNumber: 7 }),
    at('Layout', 10_000, 30_000),
    at('MinorGC', 50_000, 5_000),
    at('RunTask', 200_000, 20_000),
    at('FunctionCall', 200_000, 20_000, { url: 'http://a/1.js', functionName: 'draw', lineNumber: 7 }),
    at('Layout', 1_000, 900_000, undefined, 2),
  ]);
  assert.deepEqual(told.costs, [
    { cost: 'script', url: 'http://a/1.js', function: 'draw', line: 7, ms: 75, count: 2 },
    { cost: 'layout', ms: 30, count: 1 },
    { cost: 'other', ms: 10, count: 0 },
  ]);
  assert.equal(told.busy_ms, 120);
  assert.equal(told.duration_ms, 900);
});

test('requests are told from the slowest, with those that failed', () => {
  const note = (name, ts, data) => ({ name, ph: 'I', ts, pid: 1, tid: 1, args: { data } });
  const told = summarizeTrace([
    note('ResourceSendRequest', 1_000, { requestId: '1', url: 'http://a/1.js', resourceType: 'Script' }),
    note('ResourceSendRequest', 2_000, { requestId: '2', url: 'http://a/2.js', resourceType: 'Script' }),
    note('ResourceSendRequest', 3_000, { requestId: '3', url: 'http://a/open' }),
    note('ResourceReceiveResponse', 5_000, { requestId: '1', statusCode: 200 }),
    note('ResourceFinish', 11_000, { requestId: '1', didFail: false }),
    note('ResourceFinish', 32_000, { requestId: '2', didFail: true }),
  ]);
  assert.deepEqual(told.slowest_requests, [
    { url: 'http://a/2.js', type: 'Script', failed: true, ms: 30 },
    { url: 'http://a/1.js', type: 'Script', status: 200, ms: 10 },
  ]);
  assert.equal(summarizeTrace([]).duration_ms, 0);
});

test('addresses lose queries, fragments and passwords, headers go, and closed sites are not named', () => {
  const isClosed = (url) => url.includes('bank');
  const event = {
    name: 'see https://user:word@a.test/x?token=1#y and http://bank.example/secret', ts: 5,
    args: { headers: [{ name: 'Set-Cookie', value: 'sid=1' }], data: { url: 'blob:https://a.test/1?2', list: ['data:image/png;base64,' + 'A'.repeat(100)] } },
  };
  assert.deepEqual(cleanedTrace(event, isClosed), {
    name: 'see https://a.test/x and closed-to-agents:', ts: 5,
    args: { data: { url: 'blob:https://a.test/1', list: ['data:…'] } },
  });
});

test('the pages that the tab has shown are known though their processes took the events with them', async () => {
  const frame = (url, more) => handleEvent({ tabId: 7 }, 'Page.frameNavigated', { frame: { id: 'F', url, ...more } });
  const answers = {
    'Page.getFrameTree': { frameTree: { frame: { id: 'F', url: 'https://first.test/' } } },
    'IO.read': { data: '{"traceEvents": []}', eof: true },
  };
  chrome.debugger = {
    sendCommand: async (_, method) => {
      if (method === 'Tracing.end') handleEvent({ tabId: 7 }, 'Tracing.tracingComplete', { stream: 's' });
      return answers[method] ?? {};
    },
  };
  frame('https://before.test/');
  await traces.start(7, 'agent');
  frame('https://bank.test/');
  frame('https://frame.test/', { parentId: 'F' });
  frame('chrome-error://chromewebdata/', { unreachableUrl: 'https://down.test/' });
  const { shown } = await traces.stop(7, 'agent');
  frame('https://after.test/');
  assert.deepEqual([...shown], ['https://first.test/', 'https://bank.test/', 'https://down.test/']);
});
