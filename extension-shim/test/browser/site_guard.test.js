// A page that has gone somewhere since anybody looked: nothing is done there, and nothing of it is told.
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import vm from 'node:vm';
import { installChrome, settled } from '../support/fakes.js';

installChrome();
const { actions } = await import('../../src/actions/index.js');
const { handleDetach } = await import('../../src/browser/debugger.js');
const { Navigations } = await import('../../src/browser/navigations.js');
const { Recorder } = await import('../../src/capture/recorder.js');
const { documentTarget, withOwner } = await import('../../src/browser/site_guard.js');
const { DrawMode } = await import('../../src/draw/draw_mode.js');
const { policy, tabs } = await import('../../src/browser/state.js');

const ALLOWED = 'http://allowed.example/';
const DENIED = 'http://denied.example/secret';
const rules = (allow, deny) => policy.handleRules({ type: 'site_rules', allow, deny });

/** What the browser shows in tab 7, and what it does when it is asked for something. */
let shown;
let sent;
let before;

/** The page's own world. */
function world({ protocol, host, origin, pathname }) {
  return vm.createContext({ location: { protocol, host, origin, pathname }, crypto, AbortController, touched: [] });
}

function evaluate({ expression, contextId }) {
  const page = shown.world;
  if (expression.startsWith('(function ownOrigin')) return { result: { value: shown.origin ?? new URL(shown.url).origin } };
  if (contextId === 2) return { result: { value: '{"title":"Secret"}' } };
  try {
    return Promise.resolve(vm.runInContext(expression, page)).then((value) => ({ result: { value } }));
  } catch (error) {
    return { exceptionDetails: { exception: { value: error, description: String(error), className: error?.constructor?.name }, scriptId: '1' } };
  }
}

const answers = {
  'Page.getFrameTree': () => ({ frameTree: { frame: { id: 'F', url: shown.url } } }),
  'Page.createIsolatedWorld': () => ({ executionContextId: 2 }),
  'Page.getLayoutMetrics': () => ({ cssVisualViewport: { clientWidth: 9 }, cssContentSize: {}, visualViewport: { clientWidth: 9 } }),
  'Page.captureScreenshot': () => ({ data: 'c2VjcmV0' }),
  'Page.getNavigationHistory': () => ({ currentIndex: 1, entries: [{ id: 1, url: DENIED }, { id: 2, url: ALLOWED }] }),
  'Runtime.evaluate': evaluate,
};

/** The page goes there. @param {string} url @param {string} [origin] of whoever has opened it */
function go(url, origin) {
  shown = { url, origin, world: world(new URL(url)) };
}

beforeEach(async () => {
  handleDetach({ tabId: 7 }, 'target_closed');
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(console, 'debug', () => {});
  installChrome();
  [sent, before] = [[], {}];
  const tab = { id: 7, windowId: 1, url: ALLOWED, title: 'Allowed', active: true, status: 'complete' };
  Object.assign(chrome.tabs, { query: async () => [tab], get: async () => tab });
  chrome.debugger = {
    attach: async () => {},
    detach: async () => {},
    sendCommand: async (_, method, params) => {
      sent.push(method);
      await before[method]?.();
      return answers[method]?.(params ?? {}) ?? {};
    },
  };
  chrome.webNavigation.getFrame = async () => ({ url: shown.url, documentId: 'D' });
  go(ALLOWED);
  rules([], ['denied.example']);
  answers['Page.getResourceTree'] = () => ({ frameTree: { frame: { url: shown.url } } });
  policy.files.handleLost();
  await tabs.load();
});

const context = () => ({
  tab_id: 7, timeout_ms: 1_000, seesAll: true, sees: () => true, hides: () => false, noteOpened: () => {}, signal: new AbortController().signal, begin: () => {}, admitAct: () => {}, onStop: () => {},
});
const run = (script) => actions.execute_js({ script }, context());
const blocked = (ran) => ({ code, message, more }) => {
  assert.equal(code, 'blocked_by_policy');
  assert.equal(more.mayHaveRun, ran);
  assert.doesNotMatch(message, /secret/);
  return true;
};

for (const script of ['touched.push(1)', 'const a = 1; touched.push(a)', 'touched.push(1); return 1']) {
  test(`${script} runs on an allowed page`, async () => {
    await run(script).catch(() => {});
    assert.equal(shown.world.touched.length, 1);
  });

  test(`${script} does not run on a page that came before the debugger was attached`, async () => {
    before['Page.enable'] = () => go(DENIED);
    await assert.rejects(run(script), blocked(false));
    assert.ok(!sent.includes('Runtime.evaluate'));
  });

  test(`${script} does not run on a page that comes between the look and the script`, async () => {
    before['Runtime.evaluate'] = () => { if (shown.url === ALLOWED) go(DENIED); };
    await assert.rejects(run(script), blocked(false));
    assert.equal(shown.world.touched.length, 0);
  });

  test(`${script} does not run on another allowed page that comes meanwhile, and says so`, async () => {
    before['Runtime.evaluate'] = () => { if (shown.url === ALLOWED) go('https://other.example/'); };
    await assert.rejects(run(script), ({ code, more }) => code === 'navigation_interrupted' && more.mayHaveRun === false);
    assert.equal(shown.world.touched.length, 0);
  });
}

for (const script of ['touched.push(tabwireSignal.aborted)', 'const a = tabwireSignal; touched.push(a.aborted)', 'touched.push(tabwireSignal.aborted); return 1']) {
  test(`${script} has its signal on an allowed page, and nothing on another`, async () => {
    await run(script).catch(() => {});
    assert.deepEqual([...shown.world.touched], [false]);
    const hooks = () => Object.getOwnPropertyNames(shown.world).filter((name) => name.startsWith('tabwire_'));
    go(ALLOWED);
    before['Runtime.evaluate'] = () => { if (shown.url === ALLOWED) go(DENIED); };
    await assert.rejects(run(script), blocked(false));
    assert.deepEqual([[...shown.world.touched], hooks()], [[], []]);
  });
}

test('what is cancelled while its page is looked at does not look', async () => {
  const gone = { ...context(), begin: () => { throw new Error('it is cancelled'); } };
  await assert.rejects(actions.accessibility({}, gone));
  assert.ok(!sent.includes('Accessibility.getFullAXTree') && !sent.includes('Runtime.evaluate'), String(sent));
});

test('a script that closes its own form early does not get past the look', async () => {
  for (const script of ['1)),touched.push(1),((1', '}; touched.push(1); {', '}), touched.push(1), (() => {']) {
    go(ALLOWED);
    before['Runtime.evaluate'] = () => { if (shown.url === ALLOWED) go(DENIED); };
    const { code } = await run(script).catch((error) => error);
    assert.ok(['blocked_by_policy', 'syntax_error'].includes(code), `${script}: ${code}`);
    assert.equal(shown.world.touched.length, 0, script);
  }
});

test('without rules a page that is where events have told costs no look, and the origin is known', async () => {
  rules([], []);
  const { value, origin } = await run('touched.push(1)');
  assert.deepEqual([value, origin], [1, 'http://allowed.example']);
  assert.ok(!sent.includes('Page.getFrameTree'));
});

for (const script of ['touched.push(1)', 'const a = 1; touched.push(a)', 'touched.push(1); return 1']) {
  test(`without rules ${script} runs once on a page that events have not told of yet, with its origin`, async () => {
    rules([], []);
    go('https://other.example/');
    assert.equal((await run(script)).origin, 'https://other.example');
    assert.equal(shown.world.touched.length, 1);
    assert.equal(sent.filter((method) => method === 'Page.getFrameTree').length, 1);
  });

  test(`without rules ${script} does not run on a page that is another at each look`, async () => {
    rules([], []);
    let hosts = 0;
    before['Runtime.evaluate'] = () => go(`http://host-${hosts += 1}.example/`);
    await assert.rejects(run(script), ({ code, more }) => code === 'navigation_interrupted' && more.mayHaveRun === false);
    assert.equal(sent.filter((method) => method === 'Page.getFrameTree').length, 2, 'it is tried again once');
    assert.equal(shown.world.touched.length, 0);
  });
}

test('an exception at once that is none of the compiler is no reason for another form', async () => {
  for (const thrown of ['1', 'new TypeError("Illegal return")', 'undefined']) {
    go(ALLOWED);
    const script = `1),(f,s)=>0),touched.push(1),(()=>{throw ${thrown}})(),((1`;
    await assert.rejects(run(script), { code: 'script_threw' });
    assert.equal(shown.world.touched.length, 1);
  }
});

test('what a page answers in place of our words is judged', async () => {
  for (const [answer, code] of [[null, 'script_threw'], [5, 'script_threw'], [{ type: 'x'.repeat(9), value: 1 }, 'script_threw'],
    [{ type: 'string' }, 'script_threw'], [{ threw: { message: { evil: 1 } } }, 'script_threw'],
    [{ threw: { message: 'm', stack: { evil: 1 } } }, 'script_threw'], [{ full: 1, type: 'number', value: 1 }, undefined], [{ full: true }, 'result_too_large']]) {
    before['Runtime.evaluate'] = () => { answers['Runtime.evaluate'] = () => ({ result: { value: answer } }); };
    const outcome = await run('1').catch((error) => error);
    answers['Runtime.evaluate'] = evaluate;
    assert.equal(outcome.code, code, JSON.stringify(answer));
  }
});

test('a page has no activation of ours unless it is asked for', async () => {
  const asked = [];
  answers['Runtime.evaluate'] = (params) => { asked.push(params.userGesture); return evaluate(params); };
  const execute = (script, more) => actions.execute_js({ script, ...more }, context());
  for (const script of ['1', 'const a = 1; a', 'touched; return 1']) {
    asked.length = 0;
    await execute(script).catch(() => {});
    assert.ok(!asked.includes(true), script);
    await execute(script, { user_gesture: true }).catch(() => {});
    assert.ok(asked.includes(true), script);
  }
  await assert.rejects(execute('1', { user_gesture: 'yes' }), { code: 'invalid_params' });
  answers['Runtime.evaluate'] = evaluate;
});

// ── Local files ──

const IN = 'file:///home/me/site/index.html';
const OUT = 'file:///home/me/.ssh/id_rsa';

/** The person has opened a folder, and the daemon admits these files. @param {string[]} admitted */
function open(...admitted) {
  policy.files.send = (text) => {
    const { check, urls } = JSON.parse(text);
    queueMicrotask(() => policy.files.handleVerdict({ check, admitted: urls.map((url) => admitted.includes(url)) }));
    return true;
  };
  policy.files.handleRules({ type: 'local_files', enabled: true, folders: ['/home/me/site'] });
}

const isClosed = ({ code, message }) => code === 'blocked_by_policy' && /local files/.test(message) && !/id_rsa/.test(message);

for (const script of ['touched.push(1)', 'const a = 1; touched.push(a)', 'touched.push(1); return 1']) {
  test(`${script} does not run in a local file, without any rule for sites`, async () => {
    rules([], []);
    open(IN);
    go(OUT);
    await assert.rejects(run(script), isClosed);
    assert.equal(shown.world.touched.length, 0);
    go(IN);
    await run(script).catch(() => {});
    assert.equal(shown.world.touched.length, 1, 'in an opened folder it does, once');
  });

  test(`${script} does not run in another local file that comes between the look and the script`, async () => {
    rules([], []);
    open(IN);
    go(IN);
    let looks = 0;
    before['Runtime.evaluate'] = () => { looks += 1; if (looks === 2) go(OUT); };
    await assert.rejects(run(script), isClosed);
    assert.equal(shown.world.touched.length, 0);
  });
}

test('neither a picture of a local file nor what it holds is handed out', async () => {
  rules([], []);
  go(OUT);
  for (const name of ['screenshot', 'page_summary', 'dom', 'accessibility']) {
    await assert.rejects(actions[name]({ selector: 'a' }, context()), isClosed, name);
  }
  go(ALLOWED);
  before['Page.captureScreenshot'] = () => go(OUT);
  await assert.rejects(actions.screenshot({}, context()), isClosed);
});

test('a page in an opened folder that shows a file from elsewhere is closed, also if it showed it for a moment', async () => {
  rules([], []);
  open(IN);
  go(IN);
  const parts = { resources: [], childFrames: [] };
  answers['Page.getResourceTree'] = () => ({ frameTree: { frame: { url: shown.url }, ...parts } });
  await actions.screenshot({}, context());
  for (const [where, shows] of Object.entries({
    frame: { childFrames: [{ frame: { url: 'about:srcdoc' }, childFrames: [{ frame: { url: OUT } }] }] },
    picture: { resources: [{ url: OUT }] },
  })) {
    Object.assign(parts, { resources: [], childFrames: [] }, shows);
    await assert.rejects(actions.screenshot({}, context()), isClosed, where);
  }
  Object.assign(parts, { resources: [], childFrames: [] });
  policy.files.handleCommitted({ tabId: 7, frameId: 0, url: IN });
  before['Page.captureScreenshot'] = () => policy.files.handleCommitted({ tabId: 7, frameId: 5, url: OUT });
  await assert.rejects(actions.screenshot({}, context()), isClosed);
  delete before['Page.captureScreenshot'];
  await assert.rejects(actions.screenshot({}, context()), isClosed, 'until another page comes');
  policy.files.handleCommitted({ tabId: 7, frameId: 0, url: IN });
  await actions.screenshot({}, context());
});

test('of a tab that shows a local file neither title nor path is told', async () => {
  rules([], []);
  const tab = { id: 7, windowId: 1, url: OUT, title: 'id_rsa', active: true };
  Object.assign(chrome.tabs, { query: async () => [tab], get: async () => tab });
  await tabs.load();
  assert.deepEqual(tabs.list().map(({ url, title }) => [url, title]), [['file://', '']]);
  for (const name of ['page_info', 'tab_close', 'tab_activate']) await assert.rejects(actions[name]({}, context()), isClosed, name);
});

test('a navigation that ends in a local file ends there and then, and tells nothing of it', async () => {
  rules([], []);
  const navigations = new Navigations(policy);
  const followed = navigations.follow(7, { url: ALLOWED }, new AbortController().signal);
  navigations.handleBeforeNavigate({ tabId: 7, frameId: 0, url: ALLOWED });
  navigations.handleCommitted({ tabId: 7, frameId: 0, url: OUT });
  await assert.rejects(followed, isClosed);
});

test('an empty page, and a blob, that a local file has opened are closed like the file', async () => {
  rules([], []);
  for (const url of ['about:blank', 'blob:null/0b-1']) {
    openEmpty('file:///');
    shown.url = url;
    await assert.rejects(run('1'), isClosed, url);
    await assert.rejects(actions.screenshot({}, context()), isClosed, url);
  }
  await assert.rejects(actions.page_info({}, context()), isClosed);
});

test('an empty page is of the site that has opened it', async () => {
  go('about:blank', 'http://denied.example');
  await assert.rejects(run('1'), blocked(false));
  go('about:blank', 'null');
  assert.equal((await run('1')).value, 1);
});

test('a picture that may show a denied page is not handed out', async () => {
  assert.equal((await actions.screenshot({}, context()).catch((error) => error)).code, undefined);
  before['Page.captureScreenshot'] = () => go(DENIED);
  await assert.rejects(actions.screenshot({}, context()), blocked(true));
});

test('what was read while the page left for a denied one is not handed out', async () => {
  assert.equal((await actions.page_summary({}, context())).value.title, 'Secret');
  before['Runtime.evaluate'] = () => go(DENIED);
  for (const name of ['page_summary', 'dom']) {
    go(ALLOWED);
    await assert.rejects(actions[name]({ selector: 'a' }, context()), blocked(true));
  }
});

test('a step in the history to a denied page is not made', async () => {
  await assert.rejects(actions.back({}, context()), blocked(false));
  assert.ok(!sent.includes('Page.navigateToHistoryEntry'));
});

test('a redirect to a denied site ends the navigation there and then', async () => {
  const navigations = new Navigations(policy);
  const followed = navigations.follow(7, { url: ALLOWED }, new AbortController().signal);
  navigations.handleBeforeNavigate({ tabId: 7, frameId: 0, url: ALLOWED });
  navigations.handleCommitted({ tabId: 7, frameId: 0, url: DENIED });
  await assert.rejects(followed, blocked(true));
});

/** A command of a program on another machine, which has a word for `ALLOWED`, runs in tab 7. @returns {() => void} its end */
const farCommand = () => policy.far.begin({ type: 'x', params: {}, tab_id: 7, far: true, tabs: [7], consents: [{ kind: 'use', site: 'http://allowed.example', allowed: true }] });
const needsWord = ({ code, message }) => {
  assert.equal(code, 'consent_needed');
  assert.doesNotMatch(message, /denied|secret/);
  return true;
};

test('while a program on another machine reads a page, one that comes and has no word is not handed out', async () => {
  rules([], []);
  const end = farCommand();
  assert.equal((await actions.page_summary({}, context())).value.title, 'Secret');
  for (const [name, method] of [['page_summary', 'Runtime.evaluate'], ['dom', 'Runtime.evaluate'], ['screenshot', 'Page.captureScreenshot']]) {
    go(ALLOWED);
    before = { [method]: () => go(DENIED) };
    await assert.rejects(actions[name]({ selector: 'a' }, context()), needsWord, name);
  }
  for (const script of ['touched.push(1)', 'touched.push(1); return 1']) {
    go(ALLOWED);
    before = { 'Runtime.evaluate': () => { if (shown.url === ALLOWED) go(DENIED); } };
    await assert.rejects(run(script), needsWord);
    assert.equal(shown.world.touched.length, 0);
  }
  end();
  before = {};
  assert.equal((await actions.page_summary({}, context())).value.title, 'Secret', 'programs of this machine need no word');
});

test('a redirect to a site without a word ends the navigation of a program on another machine', async () => {
  rules([], []);
  const navigate = (follower) => {
    const followed = follower.follow(7, { url: ALLOWED }, new AbortController().signal);
    follower.handleBeforeNavigate({ tabId: 7, frameId: 0, url: ALLOWED });
    follower.handleCommitted({ tabId: 7, frameId: 0, url: DENIED });
    follower.handleCompleted({ tabId: 7, frameId: 0, url: DENIED });
    return followed;
  };
  const end = farCommand();
  await assert.rejects(navigate(new Navigations(policy)), needsWord);
  end();
  await navigate(new Navigations(policy));
});

test('an empty page that a site without a word has opened is read by no program on another machine', async () => {
  rules([], []);
  const end = farCommand();
  go('about:blank', 'http://denied.example');
  await assert.rejects(run('1'), needsWord);
  go('about:blank', 'http://allowed.example');
  assert.equal((await run('1')).value, 1);
  end();
});

test('what is injected goes into the document that was looked at, and into no other', async () => {
  chrome.webNavigation = { getFrame: async () => ({ url: shown.url, documentId: 'D' }) };
  assert.deepEqual(await documentTarget(7), { tabId: 7, documentIds: ['D'] });
  go(DENIED);
  await assert.rejects(documentTarget(7), blocked(false));
  go('about:blank');
  for (const [result, isBlocked] of [['http://denied.example', true], ['null', false]]) {
    chrome.scripting = { executeScript: async () => [{ result }] };
    const target = await documentTarget(7).catch(({ code }) => code);
    assert.equal(target === 'blocked_by_policy', isBlocked, result);
  }
  rules([], []);
  go('file:///etc/passwd');
  await assert.rejects(documentTarget(7), isClosed);
});

test('a frame of a denied site is not read with the page around it', () => {
  assert.equal(policy.blocksPage(DENIED, 'http://denied.example'), true);
  assert.equal(policy.blocksPage('about:srcdoc', 'http://denied.example'), true);
  assert.equal(policy.blocksPage('about:srcdoc', 'http://allowed.example'), false);
  assert.equal(policy.blocksPage('about:blank', 'null'), false);
});

test('an empty page that does not say whose it is counts as denied, unless all is allowed', () => {
  assert.equal(policy.blocksPage('about:blank', null), true);
  assert.equal(policy.blocksPage(ALLOWED, null), false);
  rules([], []);
  assert.equal(policy.blocksPage('about:blank', null), false);
});

/** Tab 7 shows an empty page that this one has opened. @param {string} origin */
function openEmpty(origin) {
  const tab = { id: 7, windowId: 1, url: 'about:blank', title: 'Secret', active: true, status: 'complete' };
  Object.assign(chrome.tabs, { query: async () => [tab], get: async () => tab, remove: async () => {}, update: async () => tab });
  chrome.scripting = { executeScript: async () => [{ result: origin }] };
  go('about:blank', origin);
}

test('an empty page of a denied site is neither named nor looked at nor closed', async () => {
  openEmpty('http://denied.example');
  for (const name of ['page_info', 'tab_close', 'tab_activate']) {
    await assert.rejects(actions[name]({}, context()), blocked(false), name);
  }
  await assert.rejects(policy.check({ type: 'navigate', params: { url: ALLOWED } }, async () => withOwner(await tabs.fresh(7))), blocked(false));
  await tabs.load();
  assert.deepEqual(tabs.list().map(({ title }) => title), ['']);
  openEmpty('http://allowed.example');
  assert.equal((await actions.page_info({}, context())).value.title, 'Secret');
});

test('an empty page that no site has opened may be used, and one that cannot be asked may not', async () => {
  openEmpty('null');
  const fails = (message) => { chrome.scripting.executeScript = async () => { throw new Error(message); }; };
  fails('Cannot access contents of url "about:blank". Extension manifest must request permission to access this host.');
  assert.equal((await actions.page_info({}, context())).value.url, 'about:blank');
  for (const message of ['Cannot access contents of url "https://chromewebstore.google.com/".', 'Frame with ID 0 was removed.']) {
    fails(message);
    await assert.rejects(actions.page_info({}, context()), blocked(false), message);
  }
});

test('an empty page whose answer does not come counts as denied', async () => {
  openEmpty('http://allowed.example');
  chrome.scripting.executeScript = () => new Promise(() => {});
  const asked = withOwner(await tabs.fresh(7));
  await settled();
  mock.timers.tick(5_000);
  await assert.rejects(policy.admitTab({ url: 'about:blank', owner: null }), blocked(false));
  assert.equal((await asked).owner, null);
});

test('a tab that is on its way to a denied page has no title', async () => {
  chrome.tabs.query = async () => [{ id: 7, windowId: 1, url: ALLOWED, pendingUrl: DENIED, title: 'denied.example/secret', active: true }];
  await tabs.load();
  assert.deepEqual(tabs.list().map(({ url, title }) => [url, title]), [[ALLOWED, '']]);
});

/** What is recorded of tab 7: a function that says a line, and the lines that were kept. */
async function recorded() {
  const recorder = new Recorder(policy);
  const lines = [];
  recorder.onEvents = (text) => lines.push(...JSON.parse(text).entries.map(({ text: said }) => said));
  await recorder.restore();
  recorder.configure({ all: ['logs'] });
  await settled();
  const say = (method, params) => recorder.handleEvent({ tabId: 7 }, method, params);
  const log = (text) => say('Runtime.consoleAPICalled', { type: 'log', args: [{ type: 'string', value: text }], timestamp: Date.now() + 1_000 });
  const end = () => {
    mock.timers.tick(1_000);
    recorder.configure({});
    return lines;
  };
  return { end, say, log };
}

for (const [origin, kept] of [['http://denied.example', []], ['http://allowed.example', ['line']], ['null', ['line']]]) {
  test(`an empty page that ${origin} has opened is recorded if its opener may be`, async () => {
    openEmpty(origin);
    const { end, log } = await recorded();
    log('line');
    assert.deepEqual(end(), kept);
  });

  test(`a page that becomes an empty one of ${origin} is recorded if that may be`, async () => {
    const { end, say, log } = await recorded();
    openEmpty(origin);
    say('Page.frameNavigated', { frame: { id: 'F', url: 'about:blank' } });
    log('too soon');
    await settled();
    log('line');
    assert.deepEqual(end(), kept);
  });
}

test('an empty page that comes after another one is not taken for it', async () => {
  openEmpty('http://allowed.example');
  const { end, say, log } = await recorded();
  log('line');
  openEmpty('http://denied.example');
  say('Page.frameNavigated', { frame: { id: 'F', url: 'about:blank' } });
  log('before it says whose it is');
  await settled();
  log('after');
  assert.deepEqual(end(), ['line']);
});

test('from the moment that all is stopped nothing more is recorded', async () => {
  const { end, log } = await recorded();
  log('before');
  const stopped = policy.setStopped(true);
  log('after');
  await stopped;
  await policy.setStopped(false);
  assert.deepEqual(end(), ['before']);
});

test('of a tab that shows a denied page neither title nor path is told', async () => {
  chrome.tabs.query = async () => [{ id: 7, windowId: 1, url: DENIED, title: 'Secret', active: true }];
  await tabs.load();
  assert.deepEqual(tabs.list().map(({ url, title }) => [url, title]), [['http://denied.example', '']]);
  assert.equal(tabs.titleOf(7), 'Secret', 'the person sees it');
});

test('a denied page is not recorded, and nothing is while all is stopped', async () => {
  const recorder = new Recorder(policy);
  await recorder.restore();
  recorder.configure({ all: ['logs'] });
  await settled();
  assert.equal(recorder.recording().length, 1);
  recorder.handleTab({ id: 7, url: DENIED });
  assert.equal(recorder.recording().length, 0);
  recorder.handleTab({ id: 7, url: ALLOWED, pendingUrl: DENIED });
  assert.equal(recorder.recording().length, 0);
  await policy.setStopped(true);
  recorder.handleTab({ id: 7, url: ALLOWED });
  assert.equal(recorder.recording().length, 0);
  await policy.setStopped(false);
  recorder.handleTab({ id: 7, url: ALLOWED });
  assert.equal(recorder.recording().length, 1);
  recorder.configure({});
});

test('what a recorded page says after it has left for a denied one is not kept', async () => {
  const recorder = new Recorder(policy);
  const events = [];
  recorder.onEvents = (text) => events.push(...JSON.parse(text).entries);
  await recorder.restore();
  recorder.configure({ all: ['logs', 'network', 'actions'] });
  await settled();
  const say = (method, params) => recorder.handleEvent({ tabId: 7 }, method, params);
  const log = (text) => say('Runtime.consoleAPICalled', { type: 'log', args: [{ type: 'string', value: text }], timestamp: Date.now() + 1_000 });
  log('before');
  say('Page.frameNavigated', { frame: { id: 'F', url: DENIED } });
  log('secret');
  mock.timers.tick(1_000);
  assert.deepEqual(events.map(({ text }) => text), ['before']);
  recorder.configure({});
});

test('of a recorded page that asks a denied site neither headers, bodies nor frames are kept, nor if it becomes denied meanwhile', async () => {
  const recorder = new Recorder(policy);
  const events = [];
  recorder.onEvents = (text) => { const { stream, entries } = JSON.parse(text); return events.push(...entries.map(({ url }) => `${stream} ${url}`)) > 0; };
  await recorder.restore();
  recorder.configure({ all: ['network', 'bodies', 'websocket'] });
  await settled();
  const say = (method, params) => recorder.handleEvent({ tabId: 7 }, method, params);
  const ask = async (requestId, url) => {
    say('Network.requestWillBeSent', { requestId, timestamp: 1, wallTime: 1, type: 'Fetch', documentURL: ALLOWED, request: { method: 'GET', url, headers: {} } });
    say('Network.responseReceived', { requestId, timestamp: 2, response: { status: 200, mimeType: 'application/json', headers: {} } });
    say('Network.loadingFinished', { requestId, timestamp: 3, encodedDataLength: 9 });
    await settled();
  };
  answers['Network.getResponseBody'] = () => ({ body: '{}', base64Encoded: false });
  await ask('1', DENIED);
  await ask('2', `${ALLOWED}x`);
  before['Network.getResponseBody'] = () => rules([], ['denied.example', 'late.example']);
  await ask('3', 'http://late.example/');
  for (const [requestId, url] of [['4', 'ws://denied.example/'], ['5', 'ws://allowed.example/']]) {
    say('Network.webSocketCreated', { requestId, url });
    say('Network.webSocketFrameReceived', { requestId, response: { opcode: 1, payloadData: 'x' } });
  }
  mock.timers.tick(1_000);
  recorder.configure({});
  assert.deepEqual(events.toSorted(), [`bodies ${ALLOWED}x`, `network ${ALLOWED}x`, 'network http://late.example/', 'websocket ws://allowed.example/']);
});

test('a drawing whose word has woken the worker is sent once the rules are read, and not of a denied page', async () => {
  const sender = { tab: { id: 20 } };
  const drawing = (page_url) => ({ asks: [], is_persons: true, document_id: 'D', page_url, page_title: '', draw_tab: 20 });
  for (const [url, owner, code] of [[ALLOWED, undefined, undefined], [DENIED, undefined, 'blocked_by_policy'],
    ['about:blank', 'http://denied.example', 'blocked_by_policy'], ['about:blank', undefined, 'blocked_by_policy'], ['about:blank', 'http://allowed.example', undefined]]) {
    const restored = mock.method(policy, 'restore', async () => { rules(['allowed.example'], []); });
    rules([], []);
    await chrome.storage.session.set({ 'draw:open': { 7: { ...drawing(url), owner } } });
    const sent = [];
    const drawMode = new DrawMode();
    drawMode.send = (text) => sent.push(text) > 0;
    const answer = drawMode.handleMessage({ draw: 'send', drawing: { drawing_id: '0'.repeat(32) }, asks: [] }, sender);
    await settled();
    if (code) assert.equal((await answer).error.code, code, `${url} of ${owner}`);
    assert.deepEqual([restored.mock.callCount(), sent.length], [1, code ? 0 : 1], `${url} of ${owner}`);
    restored.mock.restore();
  }
});
