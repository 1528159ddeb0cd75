// Tasks on pages that make them hard: whether each server can do them, in how many calls and with how many bytes. Whether a task
// is done, the page says.
import { setTimeout as pause } from 'node:timers/promises';
import { TaskHands } from './hands.mjs';

/** @import {McpClient} from './mcp_client.mjs' */
/** @import {TaskFigures} from './figures.mjs' */

/** How long a page may take to be as it should be. */
const DONE_MS = 1_500;

/** @typedef {{id: string, what: string, page: string, goal: string, run: (hands: TaskHands) => Promise<void>}} Task */

/** @type {Task[]} */
export const TASKS = [
  {
    id: 'order', what: 'fill an order of five fields, save it and see the result', page: 'order.html',
    goal: "document.querySelector('#saved').textContent === 'Saved: Ann, High Street 1, Ring twice, Green, a gift'",
    async run(hands) {
      await hands.fill([
        { target: 'textbox "Name"', kind: 'textbox', value: 'Ann' }, { target: 'textbox "Street"', kind: 'textbox', value: 'High Street 1' },
        { target: 'textbox "Notes"', kind: 'textbox', value: 'Ring twice' }, { target: 'combobox "Colour"', kind: 'combobox', value: 'Green' },
        { target: 'checkbox "Gift"', kind: 'checkbox', value: 'true' },
      ]);
      await hands.clickAndLook('button "Save"');
    },
  },
  {
    id: 'cart', what: 'put two of 24 articles into the cart and see it', page: 'catalogue.html',
    goal: "[...document.querySelectorAll('#items button')].filter((one) => one.textContent === 'In the cart').length === 2",
    async run(hands) {
      await hands.click('button "Add to cart"', 2);
      await hands.clickAndLook('button "Add to cart"', 5);
    },
  },
  {
    id: 'article', what: 'open an article from a list', page: 'catalogue.html', goal: "location.search === '?item=7'",
    run: (hands) => hands.click('link "Dahl lamp 7"'),
  },
  {
    id: 'suggestions', what: 'type into a search field and take the second suggestion', page: 'keys.html', goal: "document.querySelector('#search').value === 'Osaka'",
    async run(hands) {
      await hands.type('combobox "Search"', 'Os');
      await hands.waitForText('Osaka');
      for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await hands.press(key);
    },
  },
  {
    id: 'rerender', what: 'remove two rows of a page that makes all elements anew', page: 'rerender.html',
    goal: "document.querySelectorAll('li').length === 1 && document.body.textContent.includes('Eggs')",
    async run(hands) {
      await hands.click('button "Remove Milk"');
      await hands.look();
      await hands.click('button "Remove Bread"');
    },
  },
  {
    id: 'react', what: 'fill a form whose fields React controls', page: 'react_form.html',
    goal: "formState.name === 'Ann Example' && formState.list === 'b'",
    run: (hands) => hands.fill([
      { target: 'textbox "name"', kind: 'textbox', value: 'Ann Example' }, { target: 'combobox "list"', kind: 'combobox', value: 'B' },
    ]),
  },
  {
    id: 'same_frame', what: 'press a button in a frame of the same site', page: 'frames.html',
    goal: "document.querySelector('#near').contentDocument.activeElement.id === 'inside'",
    run: (hands) => hands.click('button "Inside near"'),
  },
  {
    id: 'other_frame', what: 'press a button in a frame of another site', page: 'pointer_task.html', goal: 'window.pressed === true',
    run: (hands) => hands.click('button "Inside"'),
  },
  {
    id: 'open_shadow', what: 'press a button in an open shadow root', page: 'frames.html', goal: "document.title === 'Open pressed'",
    run: (hands) => hands.click('button "Open button"'),
  },
  {
    id: 'closed_shadow', what: 'press a button in a closed shadow root', page: 'frames.html', goal: "document.title === 'Closed pressed'",
    run: (hands) => hands.click('button "Closed button"'),
  },
  {
    id: 'drag_html', what: 'drag a card to a place (HTML drag and drop)', page: 'drag_task.html', goal: "window.dropped === 'the card'",
    run: (hands) => hands.drag('button "Card"', 'button "Place"'),
  },
  {
    id: 'drag_pointer', what: 'drag an element by pointer events', page: 'drag_task.html', goal: 'knob.getBoundingClientRect().left > 250',
    run: (hands) => hands.drag('slider "Knob"', 'button "Goal"'),
  },
  {
    id: 'menu', what: 'choose from a menu that opens under the pointer', page: 'menu.html', goal: "document.title === 'Chosen'",
    async run(hands) {
      await hands.hover('button "Menu"');
      await hands.look();
      await hands.click('button "Entry"');
    },
  },
  {
    id: 'slow_button', what: 'press a button that is disabled for half a second', page: 'late_button.html', goal: "document.title === 'Pressed'",
    run: (hands) => hands.click('button "Pay"'),
  },
  {
    id: 'moving', what: 'press a button that moves all the time', page: 'moving.html', goal: "document.title === 'Caught'",
    run: (hands) => hands.click('button "Catch me"'),
  },
  {
    id: 'canvas', what: 'click at a point of a canvas', page: 'canvas.html', goal: "document.title === 'Hit'",
    run: (hands) => hands.clickAt(150, 130),
  },
  {
    id: 'endless', what: 'find an entry far down in an endless list and press it', page: 'endless.html', goal: "document.title === 'Needle'",
    async run(hands) {
      await hands.scrollUntil('Messages', 'Needle');
      await hands.look();
      await hands.click('button "Needle"');
    },
  },
  {
    id: 'strict', what: 'fill fields of a page with a strict content policy', page: 'fields.html',
    goal: "document.querySelector('[name=day]').value === '2026-11-24' && document.querySelector('[name=volume]').value === '7'",
    run: (hands) => hands.fill([{ target: '"Day"', kind: 'textbox', value: '2026-11-24' }, { target: 'slider "Volume"', kind: 'textbox', value: '7' }]),
  },
  {
    id: 'right_to_left', what: 'fill a field of a right-to-left page with emoji', page: 'rtl.html', goal: "document.querySelector('#name').value === 'ليلى 🌙'",
    run: (hands) => hands.fill([{ target: 'textbox "الاسم"', kind: 'textbox', value: 'ليلى 🌙' }]),
  },
];

/** @param {TaskHands} hands @param {string} goal */
async function isDone(hands, goal) {
  const end = Date.now() + DONE_MS;
  for (;;) {
    if (await hands.holds(goal)) return true;
    if (Date.now() > end) return false;
    await pause(50);
  }
}

/** @param {McpClient} client @param {string} server @param {Task} task @param {(name: string) => string} url @returns {Promise<TaskFigures>} */
export async function perform(client, server, task, url) {
  const hands = new TaskHands(client, server);
  const figures = () => ({ calls: hands.calls, bytes: hands.bytes, ms: Math.round(hands.ms) });
  try {
    await hands.open(url(task.page));
    await task.run(hands);
    return await isDone(hands, task.goal) ? { done: true, ...figures() } : { done: false, ...figures(), why: 'the page is not as it should be' };
  } catch (error) {
    return { done: false, ...figures(), why: String(error).slice(0, 300) };
  }
}
