// Which element a target means, and when it can be acted on.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { installChrome } from '../support/fakes.js';
import { installDocuments } from '../support/fake_documents.js';

installChrome();
const { findTargets, landed, landedAfter, targetAt, waitForTarget } = await import('../../src/browser/targets.js');
const { parseTarget } = await import('../../src/browser/target_query.js');
const { elementRefs, policy } = await import('../../src/browser/state.js');

let tab = 500;
let world;
const match = (id, name, more = {}) => ({ id, role: 'button', name, more: '', isVisible: true, isExact: false, ...more });
const found = (...matches) => ({ total: matches.length, matches, count: 9, place: -1 });
const ready = { verdict: 'ready', id: 1, role: 'button', name: 'Save', box: [10, 20, 30, 40], point: { x: 25, y: 40 }, count: 9, place: -1 };
const wait = (target, options = {}) => waitForTarget({ tabId: tab, signal: new AbortController().signal }, parseTarget(target), { kind: 'click', timeoutMs: 0, ...options });

beforeEach(() => {
  installChrome();
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: [] });
  tab += 1;
  world = { find: found(match(1, 'Save')), check: ready, nearest: { matches: [], count: 9 }, nextChange: undefined };
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world }]);
});

test('a target is told with its ref and its point', async () => {
  const { ref, label, point, box } = await wait('text=Save');
  assert.deepEqual({ label, point, box }, { label: `button "Save" ${ref}`, point: { x: 25, y: 40 }, box: [10, 20, 30, 40] });
  assert.equal((await wait(ref)).ref, ref);
});

test('exact texts count before others, seen elements before hidden ones, enabled before disabled', async () => {
  for (const [matches, wanted] of [
    [[match(1, 'Save all'), match(2, 'Save', { isExact: true })], 2],
    [[match(1, 'Save', { isVisible: false }), match(2, 'Save')], 2],
    [[match(1, 'Save', { more: ' disabled' }), match(2, 'Save')], 2],
    [[match(3, 'Save', { isVisible: false }), match(2, 'Save', { isVisible: false })], 3],
  ]) {
    world.find = found(...matches);
    let asked;
    world.check = ({ id }) => { asked = id; return { ...ready, id }; };
    await wait('text=Save');
    assert.equal(asked, wanted);
  }
});

test('the only one that fits is readied as it is found, and none is where another document may have one', async () => {
  const asked = [];
  world.find = ({ ready: wished }) => ({ ...found(match(1, 'Save')), ...(wished && { checked: { ...ready, point: { x: 1, y: 2 } } }) });
  world.check = () => { asked.push('check'); return ready; };
  assert.deepEqual((await wait('text=Save')).point, { x: 1, y: 2 });
  assert.deepEqual(asked, []);
  const inner = { find: found(), place: 0 };
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world }, { frameId: 3, parentFrameId: 0, documentId: `F${tab}`, world: inner }]);
  assert.deepEqual((await wait('text=Save')).point, { x: 25, y: 40 });
  assert.deepEqual(asked, ['check']);
});

test('of several that fit none is taken, and they are named', async () => {
  world.find = found(match(1, 'Save'), match(2, 'Save all', { role: 'link' }));
  await assert.rejects(wait('text=Sav'), ({ code, message, more }) => code === 'ambiguous_target' && /^2 elements fit text "Sav": button "Save" \w+, link "Save all" \w+$/.test(message) && more.hint.includes('ref'));
});

test('for one that is not there the nearest are named', async () => {
  world.find = found();
  world.nearest = { matches: [{ ...match(4, 'Safe'), likeness: 0.9 }], count: 9 };
  await assert.rejects(wait('role=button[name="Save"]'), ({ code, more }) => code === 'target_not_found' && /^Nearest: button "Safe" \w+\.$/.test(more.hint));
});

test('a selector that is none is refused at once', async () => {
  world.find = { isWrong: true, total: 0, matches: [], count: 0 };
  await assert.rejects(wait('b[', { timeoutMs: 5_000 }), { code: 'invalid_params' });
});

test('a target that comes later is waited for', async () => {
  let looks = 0;
  world.find = () => { looks += 1; return looks < 3 ? found() : found(match(1, 'Save')); };
  await wait('text=Save', { timeoutMs: 5_000 });
  assert.equal(looks, 3);
});

test('each reason why it cannot be acted on is told with the next step', async () => {
  for (const verdict of ['not_visible', 'disabled', 'not_editable', 'covered']) {
    world.check = { ...ready, verdict, why: 'because' };
    await assert.rejects(wait('text=Save'), ({ code, message, more }) => code === verdict && /^button "Save" \w+ .*: because$/.test(message) && more.hint.length > 10, verdict);
  }
});

test('one that may be moving is looked at again two frames later', async () => {
  const looks = [];
  world.check = ({ options }) => {
    looks.push(options.before);
    return looks.length < 3 ? { ...ready, verdict: 'not_stable', box: [looks.length, 0, 1, 1] } : ready;
  };
  await wait('text=Save', { timeoutMs: 5_000 });
  assert.deepEqual(looks, [undefined, [1, 0, 1, 1], [2, 0, 1, 1]]);
});

test('a stale ref says what has happened, and what is there now', async () => {
  const { ref } = await wait('text=Save');
  world.nearest = { matches: [{ ...match(5, 'Save'), likeness: 1.3 }], count: 9 };
  world.check = { verdict: 'stale_ref', id: 1, count: 9, place: -1 };
  world.known = { role: 'button', name: 'Save' };
  await assert.rejects(wait(ref), ({ code, message, more }) => code === 'stale_ref' && /was button "Save"; the page has removed/.test(message) && /nearest element now is button "Save" \w+5\./.test(more.hint));
  installDocuments([{ frameId: 0, documentId: `Q${tab}`, world }]);
  await assert.rejects(wait(ref), ({ code, message }) => code === 'stale_ref' && /has navigated/.test(message));
  await assert.rejects(wait('zz9'), { code: 'stale_ref' });
});

test('a ref of another tab is named with its tab', async () => {
  const other = elementRefs.names(9_999, 'X', 1)(1);
  await assert.rejects(wait(other), ({ code, message, more }) => code === 'stale_ref' && message.includes('tab 9999') && more.hint.includes('9999'));
});

test('a point in a frame is one of the page, and a covered frame is told', async () => {
  const inner = { find: found(match(1, 'Save')), check: { ...ready, place: 2 } };
  const page = { find: found(), fromFrame: ({ place, x, y }) => ({ x: x + 100 * place, y: y + 7, place: -1 }) };
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: page }, { frameId: 3, parentFrameId: 0, documentId: `F${tab}`, world: inner }]);
  const { point, box } = await wait('text=Save');
  assert.deepEqual([point, box], [{ x: 225, y: 47 }, [210, 27, 30, 40]]);
  page.fromFrame = () => ({ x: 0, y: 0, why: 'dialog "Cookies" covers it' });
  await assert.rejects(wait('text=Save'), { code: 'covered' });
});

test('a selector reaches into the frames that its beginning finds', async () => {
  const page = { find: found(), framePlaces: (css) => (css === '#f' ? [2] : []), place: -1 };
  const inner = { find: ({ query: { css } }) => (css === 'button' ? found(match(1, 'In')) : found()), framePlaces: [], place: 2 };
  installDocuments([{ frameId: 0, documentId: `P${tab}`, world: page }, { frameId: 3, parentFrameId: 0, documentId: `F${tab}`, world: inner }]);
  assert.equal((await findTargets(tab, { css: '#f button' }, 5)).found[0].name, 'In');
  assert.equal((await findTargets(tab, { css: '#g button' }, 5)).total, 0);
});

test('at a point in a frame the element in the frame is meant, and in a denied frame none', async () => {
  const page = { at: { hit: { id: 1, role: 'iframe', name: '', frame: 0, inner: { x: 1, y: 2 } }, count: 9 }, place: -1 };
  const inner = { at: ({ x, y }) => ({ hit: { id: 2, role: 'button', name: `${x} ${y}` }, count: 9 }), place: 0 };
  const documents = [{ frameId: 0, documentId: `P${tab}`, world: page }, { frameId: 3, parentFrameId: 0, documentId: `F${tab}`, url: 'https://frame.test/', world: inner }];
  installDocuments(documents);
  const here = { tabId: tab, signal: new AbortController().signal };
  const { label, point } = await targetAt(here, { x: 50, y: 60 });
  assert.match(label, /^button "1 2" /);
  assert.deepEqual(point, { x: 50, y: 60 });
  policy.handleRules({ type: 'site_rules', default: 'allow', allow: [], deny: ['frame.test'] });
  await assert.rejects(targetAt(here, { x: 50, y: 60 }), { code: 'blocked_by_policy' });
  Object.assign(documents[1], { url: 'about:blank', origin: 'https://frame.test' });
  await assert.rejects(targetAt(here, { x: 50, y: 60 }), { code: 'blocked_by_policy' }, 'an empty frame that a denied site has opened');
});

test('what has come of an act names the other element that got it', async () => {
  const target = await wait('text=Save');
  world.landed = {
    events: { click: { isOwn: false, isTrusted: true, on: { id: 3, role: 'dialog', name: 'D' } } }, focus: null, count: 9, isThere: true, value: null, states: ['checked'],
  };
  const { isGone, events, states, focus, value } = await landed(target);
  assert.deepEqual({ isGone, states, focus, value }, { isGone: false, states: ['checked'], focus: undefined, value: undefined });
  assert.match(events.click.on, /^dialog "D" \w+3$/);
  installDocuments([{ frameId: 0, documentId: 'other', world }]);
  assert.equal((await landed(target)).isGone, true);
});

test('consequences that were told with the last keys are not asked for again', async () => {
  const target = await wait('text=Save');
  world.landedAfter = ({ keys, entries }) => ({ events: {}, count: 9, isThere: true, states: [String(keys)], entered: entries, url: 'https://page.test/' });
  world.landed = () => assert.fail('asked again');
  const early = await landedAfter(target, { keys: 2, entries: [{ id: 1, typed: 'a', isAll: false }] });
  const { isGone, states, entered, url } = await landed(target, undefined, early);
  assert.deepEqual({ isGone, states, entered, url }, { isGone: false, states: ['2'], entered: [{ id: 1, typed: 'a', isAll: false }], url: 'https://page.test/' });
  installDocuments([{ frameId: 0, documentId: 'other', world }]);
  assert.equal(await landedAfter(target, { keys: 1 }), undefined, 'its document is gone');
});

test('a command that was ended looks no further', async () => {
  const abort = new AbortController();
  world.find = () => { abort.abort(new Error('ended')); return found(); };
  await assert.rejects(waitForTarget({ tabId: tab, signal: abort.signal }, parseTarget('text=x'), { kind: 'click', timeoutMs: 5_000 }), { message: 'ended' });
});
