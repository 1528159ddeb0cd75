// Pages of buttons, links, boxes and dialogs.

/** @import {Hands} from '../hands.mjs' */

/** @param {Hands} hands */
async function clickOne(hands) {
  await hands.clickNamed('#area button', (await hands.task()).match(/button (\w+)\.$/)[1]);
}

/** @param {Hands} hands */
async function clickQuotedButton(hands) {
  await hands.clickNamed('#area button', (await hands.task()).match(/"(.*)"/)[1]);
}

/** @param {Hands} hands */
async function clickLink(hands) {
  await hands.clickNamed('#area .alink', (await hands.task()).match(/"(.*)"/)[1]);
}

/** Words that mean about the same. */
const ALIKE = [
  'big large huge enormous gigantic', 'small tiny little mini petite', 'red scarlet crimson vermillion',
  'happy cheerful joyful gleeful delighted', 'sad unhappy sorrowful miserable tragic', 'angry mad furious irritated',
  'evil wicked immoral sinful corrupt depraved', 'wrong incorrect mistaken erroneous', 'real genuine actual',
  'strange odd peculiar unusual weird', 'stop cease halt end finish', 'scared terrified panicked fearful frightened afraid',
  'quiet calm peaceful serene mild', 'old aged archaic', 'love like adore favor', 'kill murder assassinate',
  'keep retain preserve sustain maintain', 'hide conceal camouflage', 'hate despise loathe detest dislike',
  'funny humorous amusing comical laughable', 'fat fleshy plump chubby', 'stupid dumb dull unwise',
  'delicious savory delectable appetizing', 'cut slice carve chop', 'brave courageous fearless', 'begin start initiate launch',
  'answer reply response', 'television televisions TV TVs', 'house home houses homes', 'fire flame fires flames',
  'pig pork swine', 'rabbit rabbits bunny bunnies', 'car cars automobile automobiles vehicle vehicles', 'water',
].map((words) => words.split(' '));

/** @param {string} word */
function alike(word) {
  return ALIKE.find((words) => words.includes(word)) ?? [word];
}

/** @param {Hands} hands @param {RegExp} asked @param {(word: string) => string[]} meant */
async function checkBoxes(hands, asked, meant) {
  const words = (await hands.task()).match(asked)[1].split(', ').flatMap(meant);
  const boxes = await hands.look((eyes, wanted) => eyes.all('#area label')
    .filter((label) => wanted.includes(eyes.text(label))).map((label) => eyes.path(label.querySelector('input'))), words);
  for (const box of boxes) await hands.check(box);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
const checkNamed = (hands) => checkBoxes(hands, /^Select (.*) and click/, (word) => [word]);

/** Opens one section after another until the link is seen. @param {Hands} hands @param {string} headers */
async function openUntilLink(hands, headers) {
  const text = (await hands.task()).match(/link "(.*)"/)[1];
  const find = (eyes, wanted) => {
    const found = eyes.visible('#area .alink').find((link) => eyes.text(link) === wanted);
    return found && eyes.path(found);
  };
  let link = await hands.look(find, text);
  const all = await hands.look((eyes, chosen) => eyes.visible(chosen).map((header) => eyes.path(header)), headers);
  for (const header of all) {
    if (link) break;
    await hands.click(header);
    link = await hands.look(find, text);
  }
  // A page may want the second tab itself when the link is in none.
  if (link) await hands.click(link);
}

/** @param {Hands} hands */
const openSections = (hands) => openUntilLink(hands, '#area h3');
/** @param {Hands} hands */
const openTabs = (hands) => openUntilLink(hands, '#area li a');

/** @param {Hands} hands */
async function expandAndSubmit(hands) {
  await hands.click('#area h3');
  await hands.until((eyes) => eyes.seen(document.querySelector('.ui-accordion-content')));
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function widget(hands) {
  const kind = (await hands.task()).match(/"(.*)"/)[1];
  const selectors = { radio: '[type=radio]', checkbox: '[type=checkbox]', text: '[type=input]', textarea: 'textarea', button: 'button' };
  await hands.click(await hands.look((eyes, selector) => eyes.path(eyes.all(`#area ${selector}`)[0]), selectors[kind]));
}

/** @param {Hands} hands */
async function color(hands) {
  const box = await hands.look((eyes) => {
    const context = document.createElement('canvas').getContext('2d');
    const plain = (color) => {
      context.fillStyle = color;
      return context.fillStyle;
    };
    const shownIn = (element) => plain(getComputedStyle(element).backgroundColor);
    const asked = document.querySelector('#query .color');
    const wanted = asked ? shownIn(asked) : plain(eyes.text('#query .bold'));
    return eyes.path(eyes.all('#area .color').find((found) => shownIn(found) === wanted));
  });
  await hands.click(box);
}

/** @param {Hands} hands */
async function shades(hands) {
  const wanted = (await hands.task()).match(/shades of (\w+)/)[1];
  const spans = await hands.look((eyes, name) => eyes.all('#area span').filter((span) => {
    const parts = getComputedStyle(span).backgroundColor.match(/\d+/g).map(Number);
    return ['red', 'green', 'blue'][parts.indexOf(Math.max(...parts))] === name;
  }).map((span) => eyes.path(span)), wanted);
  for (const span of spans) await hands.click(span);
  await hands.click('#submit');
}

/** @param {Hands} hands */
async function menuPath(hands) {
  const names = (await hands.task()).replace('Select ', '').split('>');
  const item = (name) => hands.named('.ui-menu-item > div', name);
  for (const name of names.slice(0, -1)) await hands.hover(await item(name));
  await hands.click(await item(names.at(-1)));
}

/** @param {Hands} hands */
async function menuItem(hands) {
  const wanted = await hands.look((eyes) => {
    const icon = document.querySelector('#query .ui-icon');
    return icon ? `.${[...icon.classList].find((name) => name !== 'ui-icon')}` : eyes.text('#query').match(/labeled "(.*)"/)[1];
  });
  const find = (eyes, name) => {
    const found = eyes.visible('#menu li > div').find((div) => (name.startsWith('.') ? div.querySelector(name) : eyes.text(div) === name));
    return found && eyes.path(found);
  };
  await hands.click('#open-menu');
  if (!await hands.look(find, wanted)) await hands.hover(await hands.named('#menu li > div', 'Playback'));
  await hands.click(await hands.until(find, wanted));
}

/** @param {Hands} hands */
async function tree(hands) {
  const name = (await hands.task()).match(/named "(.*)"/)[1];
  const find = (eyes, wanted) => {
    const found = eyes.visible('#tree span').find((span) => eyes.text(span) === wanted);
    return found && eyes.path(found);
  };
  const opened = new Set();
  for (;;) {
    const found = await hands.look(find, name);
    if (found) return hands.click(found);
    const folders = await hands.look((eyes) => eyes.visible('#tree .folder').map((folder) => eyes.path(folder)));
    const next = folders.find((folder) => !opened.has(folder));
    if (next === undefined) throw new Error(`no ${name} in any folder`);
    opened.add(next);
    await hands.click(next);
  }
}

/** @param {Hands} hands */
async function greatestCard(hands) {
  const values = [];
  for (const card of [1, 2, 3]) {
    const path = `#cardholder > div:nth-child(${card})`;
    await hands.click(path);
    values.push(Number(await hands.look((eyes, chosen) => eyes.text(chosen), path)));
  }
  await hands.click(`#cardholder > div:nth-child(${values.indexOf(Math.max(...values)) + 1})`);
  await hands.click('#submit');
}

/** @param {Hands} hands */
async function oddOrEven(hands) {
  const numbers = await hands.look((eyes) => eyes.all('.display-number').map((number) => Number(eyes.text(number))));
  for (const [row, number] of numbers.entries()) {
    await hands.click(`#numbers > div:nth-child(${row + 1}) ${number % 2 === 0 ? '.even' : '.odd'}`);
  }
  await hands.click('#submit');
}

/** @param {Hands} hands */
async function generateNumber(hands) {
  const [, kind, limit] = (await hands.task()).match(/(less than|greater than|odd|even) ?(\d+)?/);
  const fits = {
    'less than': (number) => number < limit, 'greater than': (number) => number > limit,
    odd: (number) => number % 2 === 1, even: (number) => number % 2 === 0,
  }[kind];
  do await hands.click('#generate');
  while (!fits(Number(await hands.look((eyes) => eyes.text('#display-number')))));
  await hands.click('#submit');
}

/** The picture shows which boxes are white. @param {Hands} hands */
async function drawInBoxes(hands) {
  const boxes = await hands.look((eyes) => {
    const [picture] = eyes.visible('aside img');
    const canvas = Object.assign(document.createElement('canvas'), { width: picture.naturalWidth, height: picture.naturalHeight });
    const context = canvas.getContext('2d');
    context.drawImage(picture, 0, 0);
    // The pictures have margins of several widths.
    const white = (column, row) => {
      const [width, height] = [canvas.width / 4, canvas.height / 7];
      const { data } = context.getImageData(column * width, row * height, width, height);
      const reds = data.filter((_, index) => index % 4 === 0);
      return reds.filter((red) => red > 200).length > reds.length * 0.28;
    };
    return eyes.all('#checkboxes input').filter((_, index) => white(index % 4, Math.floor(index / 4))).map((box) => eyes.path(box));
  });
  for (const box of boxes) await hands.check(box);
  await hands.click('#subbtn');
}

export default {
  'click-test': (hands) => hands.click('#subbtn'),
  'click-test-2': clickOne,
  'click-test-transfer': clickOne,
  'click-button': clickQuotedButton,
  'unicode-test': clickQuotedButton,
  'click-button-sequence': async (hands) => {
    await hands.click('#subbtn');
    await hands.click('#subbtn2');
  },
  'click-link': clickLink,
  'click-dialog': (hands) => hands.click('.ui-dialog-titlebar-close'),
  'click-dialog-2': async (hands) => {
    const name = (await hands.task()).match(/labeled "(.*)"/)[1];
    await (name === 'x' ? hands.click('.ui-dialog-titlebar-close') : hands.clickNamed('.ui-dialog-buttonset button', name));
  },
  'click-checkboxes': checkNamed,
  'click-checkboxes-large': checkNamed,
  'click-checkboxes-transfer': checkNamed,
  'click-checkboxes-soft': (hands) => checkBoxes(hands, /similar to (.*) and click/, alike),
  'click-option': checkNamed,
  'click-collapsible': expandAndSubmit,
  'click-collapsible-nodelay': expandAndSubmit,
  'click-collapsible-2': openSections,
  'click-collapsible-2-nodelay': openSections,
  'click-tab': async (hands) => hands.clickNamed('#area li a', (await hands.task()).match(/Tab #\d/)[0]),
  'click-tab-2': openTabs,
  'click-tab-2-easy': openTabs,
  'click-tab-2-medium': openTabs,
  'click-tab-2-hard': openTabs,
  'click-widget': widget,
  'click-color': color,
  'click-shades': shades,
  'click-menu': menuPath,
  'click-menu-2': menuItem,
  'navigate-tree': tree,
  'find-greatest': greatestCard,
  'odd-or-even': oddOrEven,
  'generate-number': generateNumber,
  'number-checkboxes': drawInBoxes,
};
