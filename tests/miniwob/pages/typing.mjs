// Pages of text fields, tables, sums and forms.

/** @import {Hands} from '../hands.mjs' */

/** @param {Hands} hands @param {string} field @param {string | number} text @param {string} [button] */
async function answer(hands, field, text, button = '#subbtn') {
  await hands.type(field, String(text));
  await hands.click(button);
}

/** @param {Hands} hands */
async function enterQuoted(hands) {
  await answer(hands, '#tt', (await hands.task()).match(/"(.*)"/)[1]);
}

/** @param {Hands} hands */
async function enterInCase(hands) {
  const [, text, way] = (await hands.task()).match(/"(.*)" in all (upper|lower)/);
  await answer(hands, '#tt', way === 'upper' ? text.toUpperCase() : text.toLowerCase());
}

/** @param {Hands} hands */
async function password(hands) {
  const [, word] = (await hands.task()).match(/"(.*)"/);
  await hands.type('#password', word);
  await answer(hands, '#verify', word);
}

/** @param {Hands} hands */
async function logIn(hands) {
  const [, user, word] = (await hands.task()).match(/username "(.*)" and the password "(.*)" into/);
  for (const [field, text] of [['#username', user], ['#password', word]]) {
    await hands.click(field);
    // Something pops up when a field gets the focus.
    if (await hands.look(() => document.querySelector('#popup') !== null)) await hands.click('#popup-cancel');
    await hands.type(field, text);
  }
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function date(hands) {
  const [, month, day, year] = (await hands.task()).match(/(\d+)\/(\d+)\/(\d+)/);
  await hands.fill('#tt', `${year}-${month}-${day}`);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function time(hands) {
  const [, hour, minute, half] = (await hands.task()).match(/(\d+):(\d+)\s*([AP])M/);
  const hours = (Number(hour) % 12) + (half === 'P' ? 12 : 0);
  await hands.fill('#tt', `${String(hours).padStart(2, '0')}:${minute}`);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function nthWord(hands) {
  const position = parseInt((await hands.task()).match(/the (\d+)/)[1], 10);
  const words = (await hands.look((eyes) => eyes.text('#area p'))).split(' ');
  await answer(hands, '#answer-input', words[position - 1].replace(/[^a-z]/gi, ''));
}

/** @param {Hands} hands */
async function lastWord(hands) {
  await hands.scroll('#text-area', { to: 'bottom' });
  const words = (await hands.look(() => document.querySelector('#text-area').value)).trim().split(/\s+/);
  await answer(hands, '#answer-input', words.at(-1).replace(/[^a-z]/gi, ''));
}

/** @param {Hands} hands @param {(task: string) => string} source of the text */
async function copy(hands, source) {
  const text = await hands.look((eyes, field) => document.querySelector(field).value, source(await hands.task()));
  await answer(hands, '#answer-input', text);
}

/** @param {Hands} hands @returns {Promise<Record<string, string>>} */
function table(hands) {
  return hands.look((eyes) => Object.fromEntries(eyes.all('#tab tr').map((row) => [...row.cells].map((cell) => cell.textContent))));
}

/** @param {Hands} hands */
async function oneOfTable(hands) {
  const [, key] = (await hands.task()).match(/value of (.*) into/);
  await answer(hands, '#tt', (await table(hands))[key]);
}

/** @param {Hands} hands */
async function twoOfTable(hands) {
  const values = await table(hands);
  for (const number of [1, 2]) {
    const label = await hands.look((eyes, chosen) => eyes.text(chosen), `#ll${number}`);
    await hands.type(`#tt${number}`, values[label.replace(':', '')]);
  }
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function arithmetic(hands) {
  const [left, sign, right] = (await hands.look((eyes) => eyes.text('#math-problem'))).split(' ');
  const result = { '+': Number(left) + Number(right), '-': left - right, x: left * right }[sign];
  await answer(hands, '#math-answer', result);
}

/** @param {Hands} hands */
async function algebra(hands) {
  const [left, sign, right, , sum] = (await hands.look((eyes) => eyes.text('#math-problem'))).split(' ');
  const known = Number(left === 'x' ? right : left);
  if (sign === '+') return answer(hands, '#math-answer', sum - known);
  return answer(hands, '#math-answer', left === 'x' ? Number(sum) + known : known - sum);
}

/** @param {Hands} hands */
async function countBlocks(hands) {
  await answer(hands, '#math-answer', await hands.look((eyes) => eyes.visible('.addition-block').length));
}

/** @param {Hands} hands */
async function transformed(hands) {
  await answer(hands, '#tt', await hands.look((eyes) => eyes.all('#captcha span').map((span) => span.textContent).join('')));
}

/** @param {Hands} hands */
async function guess(hands) {
  let [low, high] = [0, 9];
  for (;;) {
    const number = Math.floor((low + high) / 2);
    await hands.type('#tt', String(number), { clear: true });
    await hands.click('#subbtn');
    const said = await hands.look((eyes) => eyes.visible('#feedback div').map((line) => eyes.text(line)).join(' '));
    if (said.includes('higher')) low = number + 1;
    else if (said.includes('lower')) high = number - 1;
    else return;
  }
}

/** @param {Hands} hands */
async function searchMovies(hands) {
  const [, genre, director, year] = (await hands.task()).match(/^Search for (.*) movies directed by (.*) from year (.*)\.$/);
  for (const [label, text] of [['genre', genre], ['director', director], ['year|date', year]]) {
    const field = await hands.look((eyes, name) => {
      const row = (input) => input.closest('p, tr, .row, .field, .ui-entry');
      return eyes.path(eyes.all('#area input').find((input) => new RegExp(name, 'i').test(eyes.text(row(input)))));
    }, label);
    await hands.type(field, text);
  }
  await hands.click(await hands.look((eyes) => eyes.path(document.querySelector('#area :is(button, .final, .ui-submit)'))));
}

/** @param {Hands} hands */
async function signAgreement(hands) {
  const task = await hands.task();
  if (task.startsWith('Click')) return hands.click('#cancel');
  await hands.scroll('#text-area', { to: 'bottom' });
  await hands.until(() => !document.querySelector('#name').disabled);
  await hands.type('#name', task.match(/name "(.*)" then/)[1]);
  return hands.click(task.endsWith('"Agree"') ? '#agree' : '#cancel');
}

/** The text is deleted with a command of the terminal. @param {Hands} hands */
async function terminal(hands) {
  const task = await hands.task();
  const enter = async (command) => {
    await hands.type(undefined, command, { slowly: true });
    await hands.press('Enter');
  };
  await hands.click('#terminal-contents');
  await enter('ls');
  const files = (await hands.look((eyes) => eyes.text(eyes.all('.terminal-output').at(-1)))).split(' ');
  const extension = task.match(/extension (\.\S+)$/)?.[1];
  await enter(`rm ${files.find((file) => (extension ? file.endsWith(extension) : !file.includes('.')))}`);
}

/** @param {Hands} hands */
async function checkAndType(hands) {
  const [, radio, number, field] = (await hands.task()).match(/the (\d)\w+ radio.* "(.*)" into the (\d)/);
  await hands.check(`#area input[type=radio][value="${radio}"]`);
  await answer(hands, `#input-${field}`, number);
}

/** @param {Hands} hands */
async function autocomplete(hands) {
  const [, start, , end = ''] = (await hands.task()).match(/starts with "(.*?)"( and ends with "(.*?)")?\.$/);
  await hands.type('#tags', start);
  const item = await hands.until((eyes, last) => {
    const found = eyes.visible('.ui-menu-item').find((element) => element.textContent.endsWith(last));
    return found && eyes.path(found);
  }, end);
  await hands.click(item);
  await hands.click('#subbtn');
}

export default {
  'enter-text': enterQuoted,
  'enter-text-dynamic': enterQuoted,
  'enter-text-2': enterInCase,
  'enter-password': password,
  'login-user': logIn,
  'login-user-popup': logIn,
  'enter-date': date,
  'enter-time': time,
  'focus-text': (hands) => hands.click('#tt'),
  'focus-text-2': async (hands) => hands.click(`#tt${parseInt((await hands.task()).match(/the (\d)/)[1], 10)}`),
  'find-word': nthWord,
  'scroll-text': lastWord,
  'copy-paste': (hands) => copy(hands, () => '#to-copy'),
  'copy-paste-2': (hands) => copy(hands, (task) => `#text-${parseInt(task.match(/the (\d)/)[1], 10)}`),
  'read-table': oneOfTable,
  'read-table-2': twoOfTable,
  'simple-arithmetic': arithmetic,
  'simple-algebra': algebra,
  'visual-addition': countBlocks,
  'text-transform': transformed,
  'guess-number': guess,
  'multi-layouts': searchMovies,
  'multi-orderings': searchMovies,
  'sign-agreement': signAgreement,
  terminal,
  'form-sequence-2': checkAndType,
  'use-autocomplete': autocomplete,
  'use-autocomplete-nodelay': autocomplete,
};
