// Pages like those of small sites: mail, shops, flights, posts, search.
import { setTimeout as pause } from 'node:timers/promises';
import { pickDate } from './choosing.mjs';

/** @import {Hands} from '../hands.mjs' */

/** @typedef {{sender: string, act: 'reply' | 'forward' | 'delete' | 'star', text?: string}} MailTask */

/** Tasks whose words name the two people the other way round than the page means them. */
const SWAPPED = [
  /^Find yesterday's emails from .* and forward them to/, /^Forward .*'s email from yesterday to/, /^Forward all messages from .* to/,
  /^Send .* the message from/,
];

/** Of the names in the inbox, that of the sender and, to forward, that of the other. @param {string} task @param {string[]} inbox */
function peopleIn(task, inbox) {
  // Some write `Anns` for `Ann's`, or `AnswerAnn's`.
  const asWord = (name, ending) => new RegExp(`(?<!(?<!Answe)[\\w-])${name}${ending}(?!\\w|-\\w)`);
  const people = [...new Set(['', 's'].flatMap((ending) => inbox.filter((name) => asWord(name, ending).test(task))))];
  const sender = [
    (name) => new RegExp(`\\b${name} (?:sent|wrote)`), (name) => new RegExp(`\\b(?:from|by) ${name}\\b`),
    (name) => new RegExp(`(?<!to )\\b${name}(?:'?s?)(?: [\\w-]+)* (?:e-?mails?|messages?|mail)\\b`, 'i'), (name) => new RegExp(`^(?:Ask )?${name} `),
  ].map((pattern) => people.find((name) => pattern(name).test(task))).find(Boolean) ?? people[0];
  const other = people.find((name) => name !== sender);
  return SWAPPED.some((words) => words.test(task)) ? { sender: other, other: sender } : { sender, other };
}

/** @param {string} task @param {string[]} inbox @returns {MailTask} */
function readMailTask(task, inbox) {
  const quoted = task.match(/"+(.*?)"+\s*[.,;?"]?\s*(?:\.|$|to |in |as |and |is |on )/)?.[1] ?? task.match(/"+([^"]+)"+/)?.[1];
  const { sender, other } = peopleIn(quoted ? task.replace(quoted, '') : task, inbox);
  if (quoted !== undefined) return { sender, act: 'reply', text: quoted };
  // A name that is in no mail stands at the end.
  const [, last] = task.match(/forward that email to (.*)\.$/) ?? [];
  if (last !== undefined || other !== undefined) return { sender, act: 'forward', text: last ?? other };
  return { sender, act: /delete|remove|trash|get rid|erase|discard|don't want|out of my|throw away|recycling/i.test(task) ? 'delete' : 'star' };
}

/** @param {Hands} hands */
async function mail(hands) {
  const inbox = await hands.look((eyes) => eyes.all('#main .email-sender').map((sender) => eyes.text(sender)));
  const { sender, act, text } = readMailTask(await hands.task(), inbox);
  const thread = (part) => `#main > .email-thread:nth-child(${inbox.indexOf(sender) + 2}) ${part}`;
  if (act === 'delete') return hands.click(thread('.trash'));
  if (act === 'star') return hands.click(thread('.star'));
  await hands.click(thread('.email-sender'));
  await hands.click(`.email-${act}`);
  await hands.type(act === 'reply' ? '#reply-text' : '.forward-sender', text);
  return hands.click(`#send-${act}`);
}

const MINUTES = (text) => {
  const [, hours, minutes] = text.match(/(\d+)h (\d+)m/);
  return hours * 60 + Number(minutes);
};
const DOLLARS = (text) => Number(text.match(/\$(\d+)/)[1]);

/** @param {Hands} hands @param {string} wanted such as `cheapest` */
async function buy(hands, wanted) {
  const flights = await hands.until((eyes) => {
    const texts = eyes.all('.flight').map((flight) => [eyes.text(flight.querySelector('.time-duration')), eyes.text(flight.querySelector('.book'))]);
    return texts.length > 0 && texts;
  });
  const values = flights.map(([duration, price]) => (/cost|cheapest/.test(wanted) ? DOLLARS(price) : MINUTES(duration)));
  const best = /cheapest|shortest/.test(wanted) ? Math.min(...values) : Math.max(...values);
  const path = await hands.look((eyes, index) => eyes.path(eyes.all('.flight')[index].querySelector('button')), values.indexOf(best));
  await hands.click(path);
}

/** How long the list of a field may take to give the field the focus back after a choice. */
const FOCUS_BACK_MS = 200;

/** @param {Hands} hands @param {string} field @param {string} place */
async function enterCity(hands, field, place) {
  const item = (eyes, name) => {
    const found = eyes.visible('.ui-menu-item').find((element) => element.textContent.includes(name));
    return found && eyes.path(found);
  };
  const isChosen = (eyes, chosen, name) => {
    const { value } = document.querySelector(chosen);
    return value !== name && value.includes(name);
  };
  await hands.type(field, place, { clear: true });
  await hands.click(await hands.until(item, place));
  await hands.until(isChosen, field, place);
  await pause(FOCUS_BACK_MS);
}

/** @param {Hands} hands */
async function bookFlight(hands) {
  const [, wanted, from, to, day] = (await hands.task()).match(/Book the (\w+) one-way flight from: (.*) to: (.*) on (.*)\.$/);
  await enterCity(hands, '#flight-from', from);
  await enterCity(hands, '#flight-to', to);
  await pickDate(hands, '#datepicker', day);
  await hands.until((eyes) => !eyes.seen(document.querySelector('#ui-datepicker-div')));
  await hands.click('#search');
  await buy(hands, wanted);
}

/** @param {Hands} hands */
async function orderFood(hands) {
  const task = await hands.task();
  const items = await hands.look((eyes) => eyes.all('.food-item').map((item) => ({
    name: eyes.text(item.querySelector('.item-name')), types: eyes.all('img', item).map((image) => image.title), add: eyes.path(item.querySelector('.add')),
  })));
  const [, count, type] = task.match(/Order (\d) items that are (.*)$/) ?? [];
  const fitting = type ? items.filter(({ types }) => types.includes(type)) : items.filter(({ name }) => task.includes(name));
  const wanted = type ? Array.from({ length: Number(count) }, (_, index) => fitting[index % fitting.length]) : fitting;
  for (const { add } of wanted) await hands.click(add);
  await hands.click('#submit-order button');
}

/** @param {Hands} hands */
async function phoneBook(hands) {
  const [, name, property] = (await hands.task()).match(/Find (.*) in the contact book and click on their (phone|email|address)/);
  while (await hands.look((eyes) => eyes.text('#contact .name')) !== name) await hands.click('#pagination .next a');
  await hands.click(`#contact .${property}`);
}

/** @param {Hands} hands */
async function search(hands) {
  const [, words, position] = (await hands.task()).match(/enter "(.*)" and press "Search", then find and click the (\d+)/);
  await hands.type('#search-text', words);
  await hands.click('#search');
  const [page, place] = [Math.floor((position - 1) / 3) + 1, (position - 1) % 3 + 1];
  if (page > 1) await hands.clickNamed('#pagination a', String(page));
  await hands.click(`#page-content > div:nth-child(${place}) a`);
}

const POST_BUTTONS = {
  'Share via DM': 'share', 'Copy link to Tweet': 'copy', 'Embed Tweet': 'embed', Mute: 'menu-user', Block: 'block-user', Report: 'report',
  Reply: 'reply', Retweet: 'retweet', Like: 'like', Share: 'share',
};

/** @param {Hands} hands @param {string} user @returns {Promise<string[]>} */
function postsOf(hands, user) {
  return hands.look((eyes, name) => eyes.all('.media').filter((post) => eyes.text(post.querySelector('.username')) === name)
    .map((post) => eyes.path(post)), user);
}

/** @param {Hands} hands */
async function onePost(hands) {
  const [, user, name] = (await hands.task()).match(/For the user (.*), click on the "(.*)" button/);
  const [post] = await postsOf(hands, user);
  const button = POST_BUTTONS[name];
  if (['reply', 'retweet', 'like'].includes(button)) return hands.click(`${post} .${button}`);
  await hands.click(`${post} .more`);
  return hands.click(`${post} li.${button}`);
}

/** @param {Hands} hands */
async function severalPosts(hands) {
  const [, name, count, user] = (await hands.task()).match(/the "(.*)" button on (.*) posts? by (.*) and then click Submit/);
  const posts = await postsOf(hands, user);
  const wanted = Number.isNaN(parseInt(count, 10)) ? posts : posts.slice(0, parseInt(count, 10));
  for (const post of wanted) await hands.click(`${post} .${POST_BUTTONS[name]}`);
  await hands.click('#submitRow button');
}

export default {
  'email-inbox': mail,
  'email-inbox-delete': mail,
  'email-inbox-forward': mail,
  'email-inbox-forward-nl': mail,
  'email-inbox-forward-nl-turk': mail,
  'email-inbox-important': mail,
  'email-inbox-nl-turk': mail,
  'email-inbox-noscroll': mail,
  'email-inbox-reply': mail,
  'email-inbox-star-reply': mail,
  'book-flight': bookFlight,
  'book-flight-nodelay': bookFlight,
  'buy-ticket': async (hands) => buy(hands, (await hands.task()).match(/with the (.*)\.$/)[1]),
  'order-food': orderFood,
  'phone-book': phoneBook,
  'search-engine': search,
  'social-media': onePost,
  'social-media-all': severalPosts,
  'social-media-some': severalPosts,
};
