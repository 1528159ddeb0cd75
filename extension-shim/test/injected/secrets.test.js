// What of a page nobody should read: held to the table and the examples that the daemon has, too.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { SECRET_TABLE, Secrets, secretsSource } from '../../src/injected/secrets.js';
import { secretVectors } from '../support/fakes.js';

const shared = secretVectors();
const secrets = new Secrets(SECRET_TABLE);

beforeEach(() => { delete globalThis.tabwireSecrets; });

/** An element with no page around it. */
const field = (fields = {}, attributes = {}) => ({ localName: 'input', type: 'text', value: '', ...fields, getAttribute: (name) => attributes[name] ?? null });

test('the table is the one that the daemon has', () => assert.deepEqual(SECRET_TABLE, shared.table));

test('names of secrets are known in any form, and everyday names are not', () => {
  for (const name of shared.secret_names) assert.equal(secrets.isName(name), true, name);
  for (const name of shared.open_names) assert.equal(secrets.isName(name), false, name);
});

test('card numbers are hidden in text, and other numbers are not', () => {
  for (const [text, shown] of shared.cards) assert.equal(secrets.hide(text), shown);
  for (const text of shared.no_cards) assert.equal(secrets.hide(text), text);
});

test('a field is a secret by its kind, its purpose, its names and its label', () => {
  for (const element of [
    field({ type: 'password' }), field({ autocomplete: 'one-time-code' }), field({}, { autocomplete: 'cc-number' }), field({}, { name: 'otp' }),
    field({}, { id: 'login-pin' }), field({}, { placeholder: 'PIN eingeben' }), field({}, { 'aria-label': 'Contraseña' }), field({ labels: [{ textContent: ' CVC ' }] }),
  ]) assert.equal(secrets.isField(element), true);
  for (const element of [
    field({}, { name: 'pinned', id: 'spin', placeholder: 'Passenger' }), field({}, { name: 'session_count' }), field({ labels: [{ textContent: 'Coupon code' }] }),
  ]) assert.equal(secrets.isField(element), false);
});

test('an element that is called as what is remembered does not make a password forgotten', () => {
  const named = Object.create({ tabwireSecrets: field() });
  const run = new Function('globalThis', `return ${secretsSource()}`);
  const inPage = run(named);
  const password = field({ type: 'password' });
  inPage.remember(password);
  password.type = 'text';
  assert.equal(inPage.isField(password), true);
});
