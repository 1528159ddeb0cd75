import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { UploadRequests } from '../../src/commands/upload_requests.js';

const golden = (name) => JSON.parse(readFileSync(new URL(`../../../tests/fixtures/wire/${name}.json`, import.meta.url), 'utf8'));
const asked = golden('from_extension/upload_request');
const copied = golden('to_extension/upload_copies');
const refused = golden('to_extension/upload_copies.refused');

let uploads;
let sent;
let abort;

beforeEach(() => {
  uploads = new UploadRequests();
  sent = [];
  abort = new AbortController();
  uploads.send = (text) => { sent.push(JSON.parse(text)); return true; };
});

const request = () => {
  const { correlation_id, attempt, paths, site } = asked;
  return uploads.request(() => ({ correlation_id, attempt }), abort.signal, paths, site);
};

test('a request names the command, its attempt, the files and the site, and gets the copies', async () => {
  const copies = request();
  assert.deepEqual(sent, [{ ...asked, request: 1 }]);
  uploads.handleCopies({ ...copied, request: 1 });
  assert.deepEqual(await copies, copied.files);
});

test('a command that was ended asks for no files', async () => {
  abort.abort(new Error('cancelled'));
  await assert.rejects(request(), /cancelled/);
  uploads.handleConnected();
  assert.deepEqual(sent, []);
});

test('a look names the same, and gets the files that the person is to be asked about', async () => {
  const { correlation_id, attempt, paths, site } = asked;
  const look = () => uploads.look(() => ({ correlation_id, attempt }), undefined, paths, site);
  const asks = look();
  assert.deepEqual(sent, [{ ...asked, request: 1, look: true }]);
  const { asks: wanted } = golden('to_extension/upload_copies.asks');
  uploads.handleCopies({ ...golden('to_extension/upload_copies.asks'), request: 1 });
  assert.deepEqual(await asks, wanted);
  const none = look();
  uploads.handleCopies({ request: 2, files: [] });
  assert.deepEqual(await none, []);
});

test('a refusal has the code and the next step of the daemon', async () => {
  const copies = request();
  uploads.handleCopies({ ...refused, request: 1 });
  const { code, message, hint } = refused.error;
  await assert.rejects(copies, (error) => error.code === code && error.message === message && error.more.hint === hint);
});

test('answers find their request, and an answer that nobody waits for any more is dropped', async () => {
  const [first, second] = [request(), request()];
  uploads.handleCopies({ ...copied, request: 2, files: [] });
  uploads.handleCopies({ ...copied, request: 2 });
  uploads.handleCopies({ ...copied, request: 1 });
  assert.deepEqual([await first, await second], [copied.files, []]);
});

test('after a lost link it is asked again, with the attempt that the daemon now waits for', async () => {
  let attempt = 1;
  const copies = uploads.request(() => ({ correlation_id: 'x', attempt }), abort.signal, asked.paths, asked.site);
  attempt = 2;
  uploads.handleConnected();
  assert.deepEqual(sent.map((frame) => [frame.request, frame.attempt]), [[1, 1], [1, 2]]);
  uploads.handleCopies({ ...copied, request: 1 });
  await copies;
  uploads.handleConnected();
  assert.equal(sent.length, 2);
});

test('a command that is cancelled waits for no copies', async () => {
  const copies = request();
  abort.abort(new Error('cancelled'));
  await assert.rejects(copies, /cancelled/);
  uploads.handleConnected();
  assert.equal(sent.length, 1);
});
