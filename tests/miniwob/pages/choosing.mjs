// Pages of lists, dates, colours, sliders and rich text.
import { setTimeout as pause } from 'node:timers/promises';

/** @import {Hands} from '../hands.mjs' */

/** @param {Hands} hands */
async function chooseFromList(hands) {
  const [, names] = (await hands.task()).match(/^Select (.*) from the (?:scroll )?list and click/);
  const known = await hands.look((eyes) => eyes.all('#options option').map((option) => option.textContent));
  // A name may have a comma of its own.
  const wanted = known.filter((name) => name === names || names.startsWith(`${name}, `) || names.endsWith(`, ${name}`));
  await hands.select('#options', ...wanted);
  await hands.clickNamed('#area button', 'Submit');
}

/** @param {Hands} hands @param {string} field @param {string} day as month/day/year */
export async function pickDate(hands, field, day) {
  const [month, date, year] = day.split('/').map(Number);
  await hands.click(field);
  for (;;) {
    const shown = await hands.until((eyes) => {
      const title = document.querySelector('.ui-datepicker-title');
      return title && eyes.seen(title) && eyes.text(title);
    });
    const months = (new Date(`1 ${shown}`).getFullYear() - year) * 12 + new Date(`1 ${shown}`).getMonth() + 1 - month;
    if (months === 0) break;
    await hands.click(months > 0 ? '.ui-datepicker-prev' : '.ui-datepicker-next');
  }
  await hands.clickNamed('.ui-datepicker-calendar a', String(date));
}

/** @param {Hands} hands */
async function chooseDate(hands) {
  await pickDate(hands, '#datepicker', (await hands.task()).match(/\d+\/\d+\/\d+/)[0]);
  await hands.until((eyes) => !eyes.seen(document.querySelector('#ui-datepicker-div')));
  await hands.click('#subbtn');
}

/** @param {Hands} hands @param {string} slider @param {string} shown where its value stands @param {number} value */
async function slide(hands, slider, shown, value) {
  const now = Number(await hands.look((eyes, chosen) => eyes.text(chosen), shown));
  if (now === value) return;
  const key = value > now ? 'ArrowRight' : 'ArrowLeft';
  await hands.press(Array(Math.abs(value - now)).fill(key), `${slider} .ui-slider-handle`);
}

/** @param {Hands} hands */
async function oneSlider(hands) {
  await slide(hands, '#slider', '#val', Number((await hands.task()).match(/Select (-?\d+)/)[1]));
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function threeSliders(hands) {
  const values = JSON.parse((await hands.task()).match(/\[.*\]/)[0]);
  for (const [index, value] of values.entries()) await slide(hands, `#slider-${index + 1}`, `#val-${index + 1}`, value);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function sliderAndBox(hands) {
  const [, value, box] = (await hands.task()).match(/Select (-?\d+) .* the (\d)/);
  await slide(hands, '#slider', '#val', Number(value));
  await hands.check(`#checkbox-${box}`);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function dropdown(hands) {
  const [, option, button] = (await hands.task()).match(/Choose (.*) from the dropdown.*"(.*)"/);
  await hands.click('.selectric');
  await hands.clickNamed('.selectric-items li', option);
  await hands.clickNamed('#buttons button', button);
}

/** @param {Hands} hands */
async function spin(hands) {
  const value = Number((await hands.task()).match(/Select (-?\d+)/)[1]);
  for (let step = 0; step < Math.abs(value); step += 1) await hands.click(value > 0 ? '.ui-spinner-up' : '.ui-spinner-down');
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function chooseColor(hands) {
  const hex = await hands.look((eyes) => {
    const shown = document.querySelector('#query .cc');
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = shown ? getComputedStyle(shown).backgroundColor : eyes.text('#query').match(/Select (\w+)/)[1];
    return context.fillStyle;
  });
  await hands.type('#col', hex.slice(1), { clear: true });
  await hands.press('Tab');
  await hands.click('#subbtn');
}

/** @param {Hands} hands @param {string} text the name of a colour */
async function clickSwatch(hands, text) {
  await hands.click('.ql-color .ql-picker-label');
  await hands.click(await hands.until((eyes, name) => {
    const context = document.createElement('canvas').getContext('2d');
    const parts = (color) => {
      context.fillStyle = color;
      return context.fillStyle.match(/\w\w/g).map((part) => parseInt(part, 16));
    };
    const wanted = parts(name);
    const far = (item) => Math.hypot(...parts(item.dataset.value ?? 'black').map((part, index) => part - wanted[index]));
    const [nearest] = eyes.visible('.ql-color .ql-picker-item').sort((one, other) => far(one) - far(other));
    return nearest && eyes.path(nearest);
  }, text));
}

/** @param {Hands} hands */
async function styleText(hands) {
  const task = await hands.task();
  const word = task.match(/give the text (\S+) the/)?.[1];
  if (word === undefined) {
    await hands.click('.ql-editor');
    await hands.press('Control+a');
  } else {
    for (let marked = ''; marked !== word;) {
      const [start, end] = await hands.look((eyes, wanted) => {
        const node = document.querySelector('.ql-editor p').firstChild;
        const from = ` ${node.data} `.indexOf(` ${wanted} `);
        return eyes.ends(node, from, from + wanted.length);
      }, word);
      await hands.drag(start, end);
      marked = await hands.look(() => String(getSelection()));
    }
  }
  // The editor looks every tenth of a second whether something else is selected.
  await pause(250);
  const style = task.match(/(bold|italic|underline)(s|d)? and press/)?.[1];
  if (style) await hands.click(`.ql-${style}`);
  else await clickSwatch(hands, task.match(/the color (\w+)/)[1]);
  await hands.click('#subbtn');
}

/** @param {Hands} hands */
async function scrollToEnd(hands) {
  await hands.scroll('#text-area', { to: (await hands.task()).match(/to the (bottom|top)/)[1] });
  await hands.click('#subbtn');
}

export default {
  'choose-list': chooseFromList,
  'click-scroll-list': chooseFromList,
  'choose-date': chooseDate,
  'choose-date-easy': chooseDate,
  'choose-date-medium': chooseDate,
  'choose-date-nodelay': chooseDate,
  'use-slider': oneSlider,
  'use-slider-2': threeSliders,
  'form-sequence': sliderAndBox,
  'form-sequence-3': dropdown,
  'use-spinner': spin,
  'use-colorwheel': chooseColor,
  'use-colorwheel-2': chooseColor,
  'text-editor': styleText,
  'scroll-text-2': scrollToEnd,
};
