// The person is asked about files that no folder rule opens: which files a command names, for which page, and which word fits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installChrome } from '../support/fakes.js';

installChrome();
const { ConsentNeeded } = await import('../../src/lib/consent.js');
const { ActionError } = await import('../../src/lib/errors.js');
const { askBeforeGiving, filesToGive, givesFiles } = await import('../../src/policy/given_files.js');

const SHOP = 'https://shop.example';
const CAT = { path: '/home/ann/cat.png', size: 3, mark: '1:2:3', may_open_folder: false };
const DOG = { ...CAT, path: '/home/ann/dog.png', mark: '1:3:3' };
const upload = (...paths) => ({ action: 'upload_file', target: 'b1', paths });
const command = (paths, over = {}) => ({ type: 'upload_file', params: { target: 'b1', paths }, tab_id: 7, ...over });
const batch = (...steps) => ({ type: 'batch', params: { steps }, tab_id: 7 });
/** The person is to be asked about these; all others are open. */
const looked = (...asked) => async (paths) => asked.filter(({ path }) => paths.includes(path));
const ask = (given, look, document = 'd1') => askBeforeGiving(given, `${SHOP}/cart`, { look, documentNow: async () => document });
const needs = (wanted) => (error) => {
  assert.ok(error instanceof ConsentNeeded, String(error));
  assert.deepEqual(error.need, wanted);
  return true;
};

test('a command names files by itself, for a chooser, or in a step of a batch', () => {
  assert.ok(givesFiles(command([CAT.path])));
  assert.ok(givesFiles({ type: 'dialog', params: { operation: 'accept', paths: [CAT.path] } }));
  assert.ok(givesFiles(batch({ action: 'click' }, null, upload(CAT.path))));
  for (const none of [command([]), command('cat'), command([7]), batch({ action: 'click', paths: [CAT.path] }), { type: 'type', params: { paths: ['a'] } }, { type: 'batch', params: {} }, { type: 'upload_file', params: null }]) {
    assert.ok(!givesFiles(none), JSON.stringify(none));
    assert.deepEqual(filesToGive(none, SHOP), []);
  }
});

test('files of a batch are for the page to which its steps lead, as far as they say so', () => {
  const other = 'https://other.example/';
  const found = filesToGive(batch(upload('/a'), { action: 'navigate', url: other }, upload('/b'), { action: 'back' }, upload('/c'), { action: 'navigate', url: '{{x}}' }, upload('/d')), SHOP);
  assert.deepEqual(found, [{ url: SHOP, isOpen: true, paths: ['/a'] }, { url: other, isOpen: false, paths: ['/b'] }]);
});

test('the person is asked about the files that no rule opens, and about nothing else', async () => {
  await ask(command(['/open/a.png']), looked(CAT));
  await assert.rejects(ask(command(['/open/a.png', CAT.path]), looked(CAT)), needs({ kind: 'file', site: SHOP, document: 'd1', files: [CAT] }));
  await assert.rejects(ask(batch(upload(CAT.path), upload(DOG.path), upload(CAT.path)), looked(CAT, DOG)), needs({ kind: 'file', site: SHOP, document: 'd1', files: [CAT, DOG] }));
  const there = batch({ action: 'navigate', url: 'https://other.example/' }, upload(CAT.path));
  await assert.rejects(ask(there, looked(CAT)), needs({ kind: 'file', site: 'https://other.example', files: [CAT] }));
});

test('a file that can never be given ends the command before it begins, and of a batch the step alone', async () => {
  const never = async () => { throw new ActionError('file_not_allowed', 'it stays closed', undefined, { hint: 'Copy it.' }); };
  await assert.rejects(ask(command(['/x']), never), (error) => error.code === 'file_not_allowed' && error.more.mayHaveRun === false && error.more.hint === 'Copy it.');
  await ask(batch(upload('/x')), never);
});

test('a word is for the document at which it was given', async () => {
  const allowed = [{ kind: 'file', site: SHOP, document: 'd1', files: [CAT] }];
  // The daemon leaves out of its look what it was allowed.
  await ask(command([CAT.path], { allowed }), looked());
  await assert.rejects(ask(command([CAT.path], { allowed }), looked(), 'd2'), { code: 'consent_stale' });
  await ask(command([CAT.path], { allowed: [{ kind: 'act', site: SHOP, document: 'd1' }] }), looked(), 'd2');
  await assert.rejects(ask(command([CAT.path, DOG.path], { allowed }), looked(DOG)), needs({ kind: 'file', site: SHOP, document: 'd1', files: [DOG] }));
});

test('the person is asked about ten files at most', async () => {
  const many = Array.from({ length: 11 }, (_, at) => ({ ...CAT, path: `/home/ann/${at}` }));
  const steps = batch(...many.map(({ path }) => upload(path)));
  await assert.rejects(ask(steps, looked(...many)), { code: 'file_too_large' });
  await assert.rejects(ask(batch(...many.slice(1).map(({ path }) => upload(path))), looked(...many)), (error) => error.need.files.length === 10);
});
