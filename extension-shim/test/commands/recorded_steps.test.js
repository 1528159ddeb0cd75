// Acts as steps that can be run again, and steps in the words of other tools.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const { StepWriter } = await import('../../src/commands/recorded_steps.js');
const { callScript, locator, playwrightTest } = await import('../../src/commands/step_formats.js');

const NAME = { target: 'role=textbox[name="Name"s]', isSecret: false, called: 'Name', kind: 'textbox' };
const PASSWORD = { target: 'label="Pass word"', isSecret: true, called: 'Pass word', kind: 'textbox' };
const LOST = { target: null, isSecret: false, called: '', kind: 'textbox' };

function written(...acts) {
  const recording = { client: 'c', steps: [], params: [], left_out: [] };
  const tools = {
    keyOf: String, isRef: (target) => /^[a-z]\d+$/.test(target), atPoint: 'point', atFocus: 'focus', isCardNumber: (text) => text === '4111 1111 1111 1111',
  };
  const writer = new StepWriter(recording, tools, new Map());
  for (const { seen = {}, params = {}, ...act } of acts) writer.add({ value: {}, ...act, params, seen: new Map(Object.entries(seen)) });
  return recording;
}

test('an element is named by words that last, and reading is no step', () => {
  const { steps } = written(
    { type: 'snapshot' }, { type: 'get_text' },
    { type: 'click', params: { target: 'b1', snapshot: 'diff', element: 'the name' }, seen: { b1: NAME } },
    { type: 'click', params: { x: 3, y: 4 }, seen: { point: NAME } },
    { type: 'type', params: { text: 'Ada' }, seen: { focus: NAME } },
    { type: 'wait_for', params: { target: 'text=Done' } },
  );
  assert.deepEqual(steps, [
    { action: 'click', target: NAME.target }, { action: 'click', target: NAME.target }, { action: 'type', target: NAME.target, text: 'Ada' },
    { action: 'wait_for', target: 'text=Done' },
  ]);
});

test('a secret is a parameter wherever it stands, and never a value', () => {
  const recording = written(
    { type: 'type', params: { target: 'b1', text: 'hunter2' }, seen: { b1: PASSWORD } },
    { type: 'fill_form', params: { fields: [{ target: 'b1', value: 'hunter2' }, { target: 'b2', value: '4111 1111 1111 1111' }, { target: 'b2', value: 'a' }] }, seen: { b1: PASSWORD, b2: NAME } },
    { type: 'type', params: { target: 'b1', text: 'other' }, seen: { b1: PASSWORD } },
    { type: 'type', params: { target: 'b2', text: 'hunter2' }, seen: { b2: NAME } },
    { type: 'execute_js', params: { script: 'send("hunter2")' } },
    { type: 'type', params: { target: 'b2', text: 'my hunter2' }, seen: { b2: NAME } },
    { type: 'press_key', params: { keys: ['h', 'u'] }, seen: { focus: PASSWORD } },
    { type: 'navigate', params: { url: 'https://a.example/?p=hunter2' } },
  );
  assert.ok(!JSON.stringify(recording).includes('hunter2') && !JSON.stringify(recording).includes('4111'));
  assert.deepEqual(recording.params, ['pass_word', 'card_number', 'pass_word_2']);
  assert.equal(recording.steps[0].text, '{{param.pass_word}}');
  assert.deepEqual(recording.steps[1].fields.map(({ value }) => value), ['{{param.pass_word}}', '{{param.card_number}}', 'a']);
  assert.equal(recording.steps[3].text, '{{param.pass_word}}');
  assert.equal(recording.steps.length, 4);
  assert.equal(recording.left_out.length, 4);
});

test('what no step can repeat is told with the reason, and 50 steps are enough', () => {
  const { steps, left_out: leftOut } = written(
    { type: 'draw' }, { type: 'click', params: { target: 'b1' }, seen: { b1: LOST } }, { type: 'drag', params: { startX: 1, endX: 2 } },
    { type: 'click', params: { target: 'b2' }, seen: { b2: NAME }, value: { new_tab: 7 } },
    ...Array.from({ length: 60 }, () => ({ type: 'refresh' })),
  );
  assert.equal(steps.length, 50);
  assert.match(leftOut[0], /^draw after step 0: /);
  assert.match(leftOut[1], /nothing that lasts/);
  assert.match(leftOut[2], /numbers/);
  assert.match(leftOut[3], /^after step 1: .*new tab/);
  assert.match(leftOut[4], /50 steps/);
});

test('the page that an act led to has to come again, without its query', () => {
  const { steps } = written(
    { type: 'click', params: { target: 'b1' }, seen: { b1: NAME }, value: { navigated: 'https://a.example/thanks?order=7#x' } },
    { type: 'refresh', value: { navigated: 'https://a.example/' } },
  );
  assert.deepEqual(steps.slice(1), [{ action: 'wait_for', url: 'https://a.example/thanks' }, { action: 'refresh' }]);
});

test('targets are locators of Playwright', () => {
  for (const [target, is] of [
    ['role=button[name="Say \\"hi\\""s]', 'page.getByRole(\'button\', { name: "Say \\"hi\\"", exact: true })'],
    ['role=button', 'page.getByRole(\'button\')'],
    ['label="E-mail"', 'page.getByLabel("E-mail", { exact: true })'],
    ['testid="save"', 'page.getByTestId("save")'],
    ['text="Go"', 'page.getByText("Go", { exact: true })'],
    ['css=#a > b', 'page.locator("#a > b")'],
    ['#a', 'page.locator("#a")'],
  ]) assert.equal(locator(target), is);
});

test('a test for Playwright takes its secrets from the environment', () => {
  const steps = [
    { action: 'navigate', url: 'https://a.example/' },
    { action: 'fill_form', fields: [{ target: 'label="P"', type: 'textbox', value: '{{param.p-w}}' }, { target: 'css=#c', type: 'checkbox', value: true }], submit: true },
  ];
  const text = playwrightTest(steps, ['p-w']);
  assert.match(text, /await page\.getByLabel\("P", \{ exact: true \}\)\.fill\(param\('P_W'\)\);/);
  assert.match(text, /setChecked\(true\)/);
  assert.match(text, /set the variable/);
  assert.doesNotThrow(() => new Function(text.replace(/^import.*$/m, 'const test = () => {};')));
});

test('a script hands secrets over as JSON, whatever signs they have', () => {
  const script = callScript([{ action: 'type', target: 'css=#a', text: 'it\'s $HOME `id` {{param.pw}}' }], ['pw']);
  const secret = 'a"b\\c $x `y` \'z';
  const fake = `tabwire() { printf '%s\\n' "$@"; cat; }\n${script.replace('exec tabwire', 'tabwire')}`;
  const out = execFileSync('sh', ['-c', fake], { env: { PW: secret, PATH: process.env.PATH }, encoding: 'utf8' }).trim().split('\n');
  assert.deepEqual(JSON.parse(out[3].replace('params:=', '')), { pw: secret });
  assert.equal(JSON.parse(out.at(-1)).steps[0].text, 'it\'s $HOME `id` {{param.pw}}');
  assert.throws(() => execFileSync('sh', ['-c', fake], { env: { PATH: process.env.PATH }, stdio: 'pipe' }));
});
