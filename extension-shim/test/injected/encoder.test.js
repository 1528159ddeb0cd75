// What runs inside pages, run here: Node has the same values, but for nodes and windows.
import assert from 'node:assert/strict';
import test from 'node:test';
import vm from 'node:vm';
import { Encoder } from '../../src/injected/encoder.js';
import { RUN_IN_PAGE } from '../../src/injected/run.js';

/** As JSON: prototypes do not travel. */
const encode = (value, room = 1e6) => JSON.parse(JSON.stringify(new Encoder(room).encode(value)));

const CASES = [
  ['a string', 'x', { type: 'string', value: 'x' }],
  ['a number', 1.5, { type: 'number', value: 1.5 }],
  ['a boolean', false, { type: 'boolean', value: false }],
  ['undefined', undefined, { type: 'undefined', value: null }],
  ['null', null, { type: 'null', value: null }],
  ['a BigInt', 10n, { type: 'bigint', value: '10' }],
  ['NaN', NaN, { type: 'nan', value: 'NaN' }],
  ['Infinity', Infinity, { type: 'infinity', value: 'Infinity' }],
  ['-Infinity', -Infinity, { type: 'negative_infinity', value: '-Infinity' }],
  ['-0', -0, { type: 'negative_zero', value: '-0' }],
  ['a symbol', Symbol('s'), { type: 'symbol', value: 'Symbol(s)' }],
  ['a function', (a) => a, { type: 'function', value: '(a) => a' }],
  ['a Date', new Date(0), { type: 'date', value: '1970-01-01T00:00:00.000Z' }],
  ['a Date that is none', new Date(NaN), { type: 'date', value: 'Invalid Date' }],
  ['a RegExp', /x/g, { type: 'regexp', value: '/x/g' }],
  ['a Map', new Map([['k', 1]]), { type: 'map', value: [['k', 1]] }],
  ['a Set', new Set([1, 'a']), { type: 'set', value: [1, 'a'] }],
  ['a typed array', new Uint8Array([1, 2]), { type: 'typed_array', value: { name: 'Uint8Array', length: 2, values: [1, 2] } }],
  ['an ArrayBuffer', new ArrayBuffer(3), { type: 'array_buffer', value: { byte_length: 3 } }],
  ['a promise inside', [Promise.resolve()], { type: 'array', value: [{ $type: 'promise', value: null }] }],
  ['what has toJSON', new URL('http://a/'), { type: 'object', value: 'http://a/' }],
  ['a collection', new Headers({ a: 'b' }), { type: 'array', value: [['a', 'b']] }],
  ['an opaque platform object', new Response(), { type: 'object', value: '[object Response]' }],
  ['nested specials', { a: [10n, undefined] }, {
    type: 'object', value: { a: [{ $type: 'bigint', value: '10' }, { $type: 'undefined', value: null }] },
  }],
  ['an object that looks like a marker', [{ $type: 'date' }], {
    type: 'array', value: [{ $type: 'object', value: { $type: 'date' } }],
  }],
  ['a key named __proto__', JSON.parse('{"__proto__":1}'), { type: 'object', value: JSON.parse('{"__proto__":1}') }],
  ['the same object twice, which is no cycle', ((o) => [o, o])({ a: 1 }), { type: 'array', value: [{ a: 1 }, { a: 1 }] }],
];

for (const [what, value, expected] of CASES) {
  test(`encodes ${what}`, () => assert.deepEqual(encode(value), expected));
}

test('marks a cycle with the place it leads back to', () => {
  const root = { a: [{}] };
  root.a[0].up = root.a;
  assert.deepEqual(encode(root).value, { a: [{ up: { $type: 'cycle', value: '$.a' } }] });
});

test('marks what is too deep instead of failing', () => {
  const root = {};
  let leaf = root;
  for (let i = 0; i < 50; i += 1) leaf = leaf.c = {};
  assert.match(JSON.stringify(encode(root)), /"\$type":"truncated","value":"deeper than 20"/);
});

test('an error keeps name, message and stack', () => {
  const { type, value } = encode(new TypeError('t'));
  assert.deepEqual([type, value.name, value.message], ['error', 'TypeError', 't']);
  assert.match(value.stack, /TypeError: t\n/);
});

test('a getter that throws costs only itself', () => {
  const value = { ok: 1, get bad() { throw new Error('no'); } };
  assert.deepEqual(encode(value).value, { ok: 1, bad: { $type: 'unreadable', value: 'Error: no' } });
});

for (const [what, value] of [['string', 'x'.repeat(2000)], ['array', Array(1e9)], ['object', { a: 'x'.repeat(2000) }]]) {
  test(`gives up on a ${what} that is too large, soon`, () => {
    const encoder = new Encoder(1000);
    assert.throws(() => encoder.encode(value));
    assert.equal(encoder.full, true);
  });
}

/** The text that is sent, in a world of its own: it may use nothing of this module. */
async function inPage(script, room = 1000) {
  const answer = await vm.runInNewContext(`(${RUN_IN_PAGE})(async () => ${script}, ${room})`, {});
  return JSON.parse(JSON.stringify(answer));
}

test('the text that is sent needs nothing but the page', async () => {
  assert.deepEqual(await inPage('"x"'), { type: 'string', value: 'x' });
  assert.deepEqual(await inPage('({n: 1n})'), { type: 'object', value: { n: { $type: 'bigint', value: '1' } } });
});

test('says when there is too much', async () => {
  for (const script of ['"x".repeat(1000)', 'Array(1000).fill(1)']) {
    assert.deepEqual(await inPage(script), { full: true });
  }
});

test('whatever is thrown is told', async () => {
  const message = async (thrown) => (await inPage(`{ throw ${thrown} }`)).threw.message;
  assert.equal(await message('new Error("boom")'), 'Error: boom');
  assert.equal(await message('"x"'), 'threw the string x, which is no Error');
  assert.equal(await message('null'), 'threw null, which is no Error');
  assert.equal(await message('undefined'), 'threw undefined, which is no Error');
  assert.equal(await message('({a: 1})'), 'threw the object {"a":1}, which is no Error');
  assert.equal(await message('1n'), 'threw the bigint 1, which is no Error');
});

test('a page that poisons Object.prototype.then does not speak in our place', async () => {
  const poisoned = '{ Object.prototype.then = (r) => r("pwned"); return 1 }';
  assert.deepEqual(await inPage(poisoned), { type: 'number', value: 1 });
});

for (const [what, script] of [
  ['an Error that cannot be asked for its kind', "Object.defineProperty(Error, Symbol.hasInstance, { value() { throw 1 } }); throw {}"],
  ['what throws in all that it is asked', 'throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })'],
  ['an Error whose message throws', 'throw Object.assign(new Error(), { get message() { throw 1 } })'],
  ['a text that throws', "JSON.stringify = () => ({ toString() { throw 1 } }); throw {}"],
  ['texts that are none', 'String = () => ({}); JSON.stringify = String; throw { a: 1 }'],
  ['a value that throws in all that it is asked', 'return new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })'],
  ['a page without objects', 'Object = Error = Array = undefined; return [1]'],
  ['a page whose errors cannot be said', 'Object.is = () => { throw { toString() { throw 1 } } }; return 1'],
]) {
  test(`whatever the page makes of it, what fails is an answer: ${what}`, async () => {
    const { threw } = await inPage(`{ ${script} }`);
    assert.equal(typeof threw.message, 'string');
    assert.ok(threw.message.length > 0 && threw.message.length < 2000);
  });
}
