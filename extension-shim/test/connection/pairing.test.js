// Where port and key come from, what is done when they fail, and how often a host is started.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { HOST_AGAIN_MAX_MS, HOST_ANSWER_MS } from '../../src/connection/limits.js';
import { Pairing } from '../../src/connection/pairing.js';
import { FakeHost, installChrome, settled } from '../support/fakes.js';

/** Four pairings that differ in key and port. */
const [A, B, C, D] = [1, 2, 3, 4].map((n) => ({
  port: 4710 + n, ext_key: Buffer.alloc(32, n).toString('base64url'),
}));

let local;
let session;
let file;
let news;
let moved;
let pairing;

/** As a worker finds it when it starts. */
function makePairing() {
  [news, moved] = [0, 0];
  pairing = new Pairing({ onNews: () => { news += 1; }, onMoved: () => { moved += 1; } });
}

/** What is tried next. */
async function next() {
  const config = await pairing.load();
  await settled();
  return config;
}

/** What is kept already. */
function kept(config, by) {
  local.data.pairing = { ...config, by };
}

/** How long it takes until the host is asked again, looking every second. */
async function delayToNextHost(limitMs = 2 * HOST_AGAIN_MAX_MS) {
  const before = FakeHost.started.length;
  for (let ms = 0; ms <= limitMs; ms += 1_000) {
    const config = await next();
    if (FakeHost.started.length > before) return ms;
    if (config) pairing.handleSetback(config, 'unreachable');
    mock.timers.tick(1_000);
    await settled();
  }
  return Infinity;
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_795_298_985_123 });
  ({ local, session } = installChrome());
  FakeHost.started = [];
  file = null;
  globalThis.fetch = async (url) => {
    assert.equal(url, 'chrome-extension://ours/config.json');
    if (file === null) throw new TypeError('Failed to fetch');
    return { json: async () => file };
  };
  makePairing();
});

test('config.json goes before what is kept, and neither has a host started', async () => {
  kept(B, 'host');
  file = A;
  assert.deepEqual(await next(), A);
  file = null;
  assert.deepEqual(await next(), B);
  assert.equal(FakeHost.started.length, 0);
});

for (const [what, bad] of Object.entries({
  'a key that is none': { port: 4711, ext_key: '***' }, 'no port': { ext_key: A.ext_key }, 'another shape': [],
})) {
  test(`a config.json with ${what} counts as none, and so does an entry`, async () => {
    file = bad;
    local.data.pairing = bad;
    assert.equal(await next(), null);
    assert.equal(FakeHost.started.length, 1);
  });
}

test('with neither the host is asked, and what it tells is tried and kept', async () => {
  assert.equal(await next(), null);
  assert.deepEqual([FakeHost.last.name, FakeHost.last.heard], ['dev.tabwire.host', [{ type: 'pair' }]]);
  assert.equal(pairing.state().is_asking, true);
  await FakeHost.last.answers({ ...A, more: 'ignored' });
  assert.deepEqual([news, FakeHost.last.isOpen, pairing.state().is_asking], [1, false, false]);
  assert.deepEqual(await next(), A);
  makePairing(); // The worker was restarted.
  assert.deepEqual(await next(), A);
  assert.equal(FakeHost.started.length, 1);
});

test('whoever looks while a host is asked starts no other one', async () => {
  for (let i = 0; i < 9; i += 1) {
    await next();
    mock.timers.tick(1_000);
    await settled();
  }
  assert.equal(FakeHost.started.length, 1);
});

test('a host that says nothing is given up after 10 s and ended', async () => {
  await next();
  mock.timers.tick(HOST_ANSWER_MS - 1);
  await settled();
  assert.equal(FakeHost.last.isOpen, true);
  mock.timers.tick(1);
  await settled();
  assert.deepEqual([FakeHost.last.isOpen, pairing.state().is_asking], [false, false]);
  assert.match(pairing.state().trouble, /10 s.*`tabwire doctor`/);
  assert.equal(await delayToNextHost(), 5_000);
});

test('asks again after 5 s, then twice as long each time, at most 5 min', async () => {
  await next();
  const delays = [];
  for (let i = 0; i < 8; i += 1) {
    await FakeHost.last.ends('Specified native messaging host not found.');
    delays.push((await delayToNextHost()) / 1_000);
  }
  assert.deepEqual(delays, [5, 10, 20, 40, 80, 160, 300, 300]);
});

test('a worker that is restarted while the host is asked does not start it again at once', async () => {
  await next();
  makePairing();
  await next();
  assert.equal(FakeHost.started.length, 1);
  assert.equal(await delayToNextHost(), 5_000);
  await FakeHost.last.answers(A);
  assert.deepEqual(await next(), A);
});

test('a clock that was set back does not keep the host from being asked', async () => {
  await next();
  await FakeHost.last.ends('Native host has exited.');
  mock.timers.setTime(1_000);
  await next();
  assert.equal(FakeHost.started.length, 2);
});

test('a person who looks has it asked as soon as it may be', async () => {
  await next();
  for (let i = 0; i < 5; i += 1) {
    await FakeHost.last.ends('Specified native messaging host not found.');
    await delayToNextHost();
  }
  await FakeHost.last.ends('Specified native messaging host not found.');
  await pairing.handlePerson();
  assert.equal(await delayToNextHost(), 5_000);
});

test('a person who looks has refused keys tried anew, too', async () => {
  file = A;
  kept(B, 'host');
  await next();
  pairing.handleSetback(A, 'refused');
  assert.deepEqual(await next(), B);
  await pairing.handlePerson();
  assert.deepEqual(await next(), A);
});

test('once a daemon was proven the next failure has it asked soon', async () => {
  kept(A, 'host');
  for (let i = 0; i < 6; i += 1) {
    await delayToNextHost();
    await FakeHost.last.answers(A);
  }
  pairing.handleProven(A);
  await settled();
  assert.equal(await delayToNextHost(), 5_000);
});

for (const [said, words] of [
  ['Specified native messaging host not found.', /not installed for this browser/],
  ['Access to the specified native messaging host is forbidden.', /extension of another id/],
  ['Native host has exited.', /ended without an answer/],
  ['Error when communicating with the native messaging host.', /ended without an answer/],
  [undefined, /ended without an answer/],
]) {
  test(`the browser's "${said}" is put into words`, async () => {
    await next();
    await FakeHost.last.ends(said);
    assert.match(pairing.state().trouble, words);
    makePairing();
    await next();
    assert.match(pairing.state().trouble, words, 'also by the next worker');
  });
}

test('what the host says is told, cut to a sentence, and gone when a daemon is proven', async () => {
  await next();
  await FakeHost.last.answers({ error: 'of_tomorrow', message: `Run this.${'!'.repeat(10_000)}` });
  const { trouble } = pairing.state();
  assert.match(trouble, /^Tabwire says: Run this\.!+$/);
  assert.ok(trouble.length < 600);
  pairing.handleProven(A);
  await settled();
  await next();
  assert.equal(pairing.state().trouble, '');
});

for (const bad of [null, 1, [], {}, { error: 'x' }, { port: 0, ext_key: A.ext_key }, { port: 4711, ext_key: 'short' }]) {
  test(`${JSON.stringify(bad)} from a host is not kept`, async () => {
    await next();
    await FakeHost.last.answers(bad);
    assert.match(pairing.state().trouble, /does not understand/);
    assert.deepEqual([news, local.data.pairing, await next()], [0, undefined, null]);
  });
}

test('what the browser throws instead of starting a host is told', async () => {
  chrome.runtime.connectNative = () => { throw new Error('no such permission'); };
  await next();
  assert.equal(pairing.state().trouble, 'no such permission');
});

test('refused: the next way is tried, at last the host, and its new key goes first', async () => {
  file = A;
  kept(B, 'host');
  await next();
  assert.equal(pairing.handleSetback(A, 'refused'), true);
  assert.deepEqual(await next(), B);
  assert.equal(FakeHost.started.length, 0);
  assert.equal(pairing.handleSetback(B, 'refused'), false);
  await next();
  await FakeHost.last.answers(C);
  assert.deepEqual([news, await next()], [1, C]);
});

test('when the last key was refused the host is asked at once, and not at the next try', async () => {
  file = A;
  await next();
  assert.equal(FakeHost.started.length, 0);
  pairing.handleSetback(A, 'refused');
  await settled();
  await FakeHost.last.answers(B);
  assert.deepEqual([news, await next()], [1, B]);
});

test('a refused config.json is passed over while the other key holds, and is tried once it was written anew', async () => {
  file = A;
  kept(B, 'host');
  await next();
  pairing.handleSetback(A, 'refused');
  pairing.handleProven(B);
  for (let i = 0; i < 3; i += 1) {
    assert.deepEqual(await next(), B);
    pairing.handleSetback(B, 'unreachable'); // The daemon is restarted.
  }
  file = C;
  assert.deepEqual(await next(), C);
});

test('a key that was refused and is gone leaves nothing behind', async () => {
  for (const config of [A, B]) {
    file = config;
    assert.deepEqual(await next(), config);
    pairing.handleSetback(config, 'refused');
  }
  assert.deepEqual(await next(), B);
});

for (const why of ['refused', 'unproven', 'unreachable']) {
  test(`${why}: whoever has the port now, a good key is not thrown away`, async () => {
    kept(A, 'host');
    for (let i = 0; i < 5; i += 1) {
      assert.deepEqual(await next(), A);
      pairing.handleSetback(A, why);
      if (FakeHost.last?.isOpen) await FakeHost.last.ends('Native host has exited.');
    }
    assert.deepEqual(local.data.pairing, { ...A, by: 'host' });
    assert.equal(FakeHost.started.length, 1);
  });
}

test('a port that is refused has the host asked, and another port for the same key is taken', async () => {
  kept(A, 'host');
  await next();
  pairing.handleSetback(A, 'unreachable');
  assert.deepEqual(await next(), A);
  const moved = { ...A, port: 4799 };
  await FakeHost.last.answers(moved);
  assert.deepEqual([news, await next()], [1, moved]);
});

test('the same answer again is no news', async () => {
  kept(A, 'host');
  await next();
  pairing.handleSetback(A, 'refused');
  await next();
  await FakeHost.last.answers(A);
  assert.equal(news, 0);
});

test('two daemons that are away are tried in turn', async () => {
  file = A;
  kept(B, 'host');
  const tried = [];
  for (let i = 0; i < 4; i += 1) {
    const config = await next();
    tried.push(config);
    assert.equal(pairing.handleSetback(config, 'unreachable'), i % 2 === 0);
  }
  assert.deepEqual(tried, [A, B, A, B]);
});

test('when all were refused they are tried in turn', async () => {
  file = A;
  kept(B, 'host');
  const tried = [];
  for (let i = 0; i < 5; i += 1) {
    tried.push(await next());
    pairing.handleSetback(tried.at(-1), 'refused');
  }
  assert.deepEqual(tried, [A, B, A, B, A]);
});

test('a pasted pairing is kept in the place of the one before, and tried when config.json has failed', async () => {
  file = A;
  kept(B, 'host');
  await next();
  pairing.handleSetback(A, 'refused');
  await pairing.paste(C);
  assert.deepEqual(await next(), C);
  assert.deepEqual(local.data.pairing, { ...C, by: 'person' });
  assert.equal(pairing.state().is_pasted, true);
});

test('a line that is pasted again is tried although it was refused before', async () => {
  file = A;
  kept(B, 'person');
  await next();
  pairing.handleSetback(A, 'refused');
  pairing.handleSetback(B, 'refused');
  await pairing.paste(B);
  assert.deepEqual(await next(), B);
});

test('what cannot be stored leaves what was kept', async () => {
  kept(A, 'host');
  local.broken = new Error('disk full');
  await assert.rejects(pairing.paste(B), /disk full/);
  assert.deepEqual(await next(), A);
});

test('a host that answers late does not undo what was pasted', async () => {
  await next();
  await pairing.paste(B);
  await FakeHost.last.answers(A);
  assert.deepEqual([news, await next()], [0, B]);
});

test('a daemon that a person has named is not left because it is away; refused, the host is asked', async () => {
  kept(D, 'person');
  for (const why of ['unreachable', 'unproven']) {
    await next();
    pairing.handleSetback(D, why);
    assert.deepEqual(await next(), D);
    assert.equal(FakeHost.started.length, 0);
  }
  pairing.handleSetback(D, 'refused');
  await next();
  await FakeHost.last.answers(A);
  assert.deepEqual(await next(), A);
  assert.equal(pairing.state().is_pasted, false);
});

test('what is forgotten is gone, and the host is asked', async () => {
  kept(A, 'person');
  await next();
  await pairing.forget();
  assert.equal(await next(), null);
  assert.deepEqual([local.data.pairing, FakeHost.started.length, pairing.state().is_pasted], [undefined, 1, false]);
});

// ── The key leaves the folder ──

/** The daemon has proven that it knows this key. */
async function proven(config) {
  pairing.handleProven(config);
  await settled();
}

test('the key of config.json is kept here once it is proven, and used when the file holds it no more', async () => {
  file = A;
  assert.deepEqual(await next(), A);
  assert.deepEqual([moved, local.data.pairing_moved], [0, undefined], 'whoever took the port gets nothing moved');
  await proven(A);
  assert.deepEqual([moved, local.data.pairing_moved], [1, A]);
  file = { port: A.port };
  makePairing(); // The worker was restarted.
  assert.deepEqual(await next(), A);
  assert.equal(FakeHost.started.length, 0);
  await proven(A);
  assert.equal(moved, 0, 'the file holds none: there is nothing to tell');
});

test('a file that keeps its key is told of with each connection', async () => {
  file = A;
  await next();
  await proven(A);
  await proven(A);
  assert.equal(moved, 2);
});

test('a key that does not come from the file is not told of, and leaves the moved one where it is', async () => {
  local.data.pairing_moved = A;
  kept(B, 'host');
  await next();
  await proven(B);
  assert.deepEqual([moved, local.data.pairing_moved], [0, A], 'it is another daemon\'s');
});

test('a new key in the file goes before the old one that was moved, and takes its place', async () => {
  local.data.pairing_moved = A;
  file = { ...B, port: A.port };
  assert.deepEqual(await next(), file);
  await proven(file);
  assert.deepEqual([moved, local.data.pairing_moved], [1, file]);
});

test('an old key in the file is passed over for the one that was moved', async () => {
  local.data.pairing_moved = A;
  file = { ...B, port: A.port };
  pairing.handleSetback(await next(), 'refused');
  assert.deepEqual(await next(), A);
  await proven(A);
  assert.deepEqual([moved, local.data.pairing_moved], [0, A]);
});

test('after the key was replaced the moved one is refused, the host is asked, and the old one goes', async () => {
  local.data.pairing_moved = A;
  file = { port: A.port };
  pairing.handleSetback(await next(), 'refused');
  await settled();
  const fresh = { ...B, port: A.port };
  await FakeHost.last.answers(fresh);
  assert.deepEqual(await next(), fresh);
  await proven(fresh);
  assert.equal(local.data.pairing_moved, undefined);
});

test('what the browser cannot store stays in the file', async () => {
  mock.method(console, 'warn', () => {});
  file = A;
  await next();
  local.broken = new Error('disk full');
  await proven(A);
  assert.equal(moved, 0);
});
