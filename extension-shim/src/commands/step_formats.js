// @ts-check
// Recorded steps as a Playwright test and as a shell script. Pure.

/** @import {RecordedStep} from '../browser/step_recordings.js' */

const PARAM = /\{\{param\.([A-Za-z_][\w-]*)\}\}/g;

/** @param {string} name of a parameter @returns {string} of the variable of the environment */
function variable(name) {
  return name.replace(/-/g, '_').toUpperCase();
}

/** A text as an expression, its parameters from the environment. @param {unknown} text @returns {string} */
function expression(text) {
  if (typeof text !== 'string') return JSON.stringify(text);
  const parts = text.split(PARAM);
  const shown = parts.flatMap((part, at) => (at % 2 === 1 ? [`param('${variable(part)}')`] : part === '' ? [] : [JSON.stringify(part)]));
  return shown.length === 0 ? '""' : shown.join(' + ');
}

/** @param {unknown} target as steps write it @returns {string} a locator of Playwright */
export function locator(target) {
  const text = String(target);
  const [, kind, rest = ''] = /^(css|text|role|label|placeholder|testid)=([\s\S]+)$/.exec(text) ?? [];
  const words = () => (rest.startsWith('"') ? rest : JSON.stringify(rest));
  switch (kind) {
    case 'role': {
      const [, role, name, flag] = /^([a-z-]+)(?:\[name=("(?:[^"\\]|\\.)*")([is]?)\])?$/.exec(rest) ?? [];
      if (role === undefined) return `page.locator(${JSON.stringify(text)})`;
      return name === undefined ? `page.getByRole('${role}')` : `page.getByRole('${role}', { name: ${name}${flag === 's' ? ', exact: true' : ''} })`;
    }
    case 'label': return `page.getByLabel(${words()}, { exact: true })`;
    case 'placeholder': return `page.getByPlaceholder(${words()}, { exact: true })`;
    case 'text': return `page.getByText(${words()}, { exact: true })`;
    case 'testid': return `page.getByTestId(${words()})`;
    default: return `page.locator(${JSON.stringify(kind === 'css' ? rest : text)})`;
  }
}

/** @param {RecordedStep} step @returns {string[]} lines of a Playwright test */
function playwrightStep({ action, ...step }) {
  const target = step.target === undefined ? 'page.locator(":focus")' : locator(step.target);
  switch (action) {
    case 'navigate': return [`await page.goto(${expression(step.url)});`];
    case 'refresh': return ['await page.reload();'];
    case 'back': return ['await page.goBack();'];
    case 'forward': return ['await page.goForward();'];
    case 'click': return [`await ${target}.${step.doubleClick ? 'dblclick' : 'click'}(${options({ button: step.button, modifiers: step.modifiers, delay: step.hold_ms })});`];
    case 'hover': return [`await ${target}.hover();`];
    case 'type': return [
      `await ${target}.${step.clear ? 'fill' : 'pressSequentially'}(${expression(step.text)});`,
      ...(step.submit ? [`await ${target}.press('Enter');`] : []),
    ];
    case 'press_key': return [step.key ?? [], step.keys ?? []].flat().map((key) => `await ${step.target === undefined ? 'page.keyboard' : target}.press(${JSON.stringify(key)});`);
    case 'select_option': return [`await ${target}.selectOption([${/** @type {unknown[]} */ (step.values).map(expression).join(', ')}]);`];
    case 'check': return [`await ${target}.check();`];
    case 'uncheck': return [`await ${target}.uncheck();`];
    case 'fill_form': return filled(/** @type {any[]} */ (step.fields), step.submit === true);
    case 'drag': return [`await ${locator(step.startTarget)}.dragTo(${locator(step.endTarget)});`];
    case 'upload_file': return [`await ${target}.setInputFiles(${JSON.stringify(step.paths)});`];
    case 'execute_js': return [`await page.evaluate(${JSON.stringify(step.script)});`];
    case 'scroll': return [scrolled(step, target)];
    case 'wait_for': return waited(step, target);
    default: return [`// Playwright has nothing like ${action}: ${JSON.stringify(step)}`];
  }
}

/** @param {any[]} fields @param {boolean} isSubmitted */
function filled(fields, isSubmitted) {
  const lines = fields.map(({ target, type: kind, value }) => {
    const field = locator(target);
    if (typeof value === 'boolean') return `await ${field}.setChecked(${value});`;
    if (kind === 'combobox') return `await ${field}.selectOption(${expression(value)});`;
    if (kind === 'radio') return `await ${field}.check();`;
    return `await ${field}.fill(${expression(String(value))});`;
  });
  return isSubmitted ? [...lines, `await ${locator(fields.at(-1).target)}.press('Enter');`] : lines;
}

/** @param {Record<string, any>} step @param {string} target */
function scrolled(step, target) {
  if (step.target !== undefined && step.dx === undefined && step.dy === undefined) return `await ${target}.scrollIntoViewIfNeeded();`;
  if (step.until_text !== undefined) return `await page.getByText(${expression(step.until_text)}).first().scrollIntoViewIfNeeded();`;
  if (step.to !== undefined) return `await page.evaluate('scrollTo(0, ${step.to === 'top' ? 0 : 'document.documentElement.scrollHeight'})');`;
  const [dx, dy] = /** @type {Record<string, number[]>} */ ({ up: [0, -600], down: [0, 600], left: [-600, 0], right: [600, 0] })[step.direction] ?? [step.dx ?? 0, step.dy ?? 0];
  return `await page.mouse.wheel(${dx}, ${dy});`;
}

/** @param {Record<string, any>} step @param {string} target */
function waited(step, target) {
  return [
    ...(step.url === undefined ? [] : [`await page.waitForURL((url) => url.href.includes(${expression(step.url)}));`]),
    ...(step.text === undefined ? [] : [`await page.getByText(${expression(step.text)}).first().waitFor();`]),
    ...(step.text_gone === undefined ? [] : [`await page.getByText(${expression(step.text_gone)}).first().waitFor({ state: 'hidden' });`]),
    ...(step.target === undefined ? [] : [`await ${target}.first().waitFor();`]),
    ...(step.gone === undefined ? [] : [`await ${locator(step.gone)}.first().waitFor({ state: 'hidden' });`]),
    ...(step.state === undefined ? [] : [`await page.waitForLoadState(${JSON.stringify(step.state === 'idle' ? 'networkidle' : step.state)});`]),
    ...(step.function === undefined ? [] : [`await page.waitForFunction(${JSON.stringify(step.function)});`]),
    ...(step.time === undefined ? [] : [`await page.waitForTimeout(${step.time});`]),
  ];
}

/** @param {Record<string, unknown>} given @returns {string} without those that are not given */
function options(given) {
  const set = Object.entries(given).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  return set.length === 0 ? '' : `{ ${set.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')} }`;
}

/** @param {RecordedStep[]} steps @param {string[]} params @returns {string} a Playwright test that takes secrets from the environment */
export function playwrightTest(steps, params) {
  const reads = params.length === 0 ? [] : [
    '',
    '// Secrets are not recorded: give them as variables of the environment.',
    'function param(name) {',
    '  const value = process.env[name];',
    '  if (value === undefined) throw new Error(`set the variable ${name}`);',
    '  return value;',
    '}',
  ];
  const lines = steps.flatMap(playwrightStep).map((line) => `  ${line}`);
  return ['import { test } from \'@playwright/test\';', ...reads, '', 'test(\'recorded steps\', async ({ page }) => {', ...lines, '});', ''].join('\n');
}

/** @param {RecordedStep[]} steps @param {string[]} params @returns {string} a script that runs them with `tabwire call` */
export function callScript(steps, params) {
  const variables = params.map(variable);
  const places = params.map(() => '"%s":%s').join(',');
  const given = params.map((name) => `${name} "$(json "$${variable(name)}")"`).join(' ');
  return [
    '#!/bin/sh',
    ...(params.length === 0 ? [] : [
      '# Secrets are not recorded: give them as variables of the environment.',
      // The daemon redacts words behind the name of a secret and a colon.
      `: ${variables.map((name) => `"\${${name}?}"`).join(' ')}`,
      'json() { printf \'"%s"\' "$(printf %s "$1" | sed \'s/\\\\/\\\\\\\\/g; s/"/\\\\"/g\')"; }',
    ]),
    `exec tabwire call interact action=run${params.length === 0 ? '' : ` "params:=$(printf '{${places}}' ${given})"`} - <<'STEPS'`,
    JSON.stringify({ steps }),
    'STEPS',
    '',
  ].join('\n');
}
