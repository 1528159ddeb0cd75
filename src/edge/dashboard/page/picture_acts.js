// @ts-check
// The switch for pictures of tabs before and after acts. The daemon has its state: it may be switched in another window.

import { ask } from './feed.js';
import { byId, say } from './parts.js';

/** @param {string} token @returns {(isOn: boolean) => void} draws the state that the daemon tells */
export function offerPictures(token) {
  const button = byId('picture-acts');
  const draw = (/** @type {boolean} */ isOn) => {
    button.disabled = false;
    button.setAttribute('aria-pressed', String(isOn));
  };
  button.addEventListener('click', async () => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    button.disabled = true;
    const response = await ask('/dashboard/act-pictures', token, { method: 'POST', body: JSON.stringify({ on }) }).catch(() => null);
    button.disabled = false;
    if (!response?.ok) return say(byId('said'), 'The daemon did not answer');
    draw(on);
    say(byId('said'), on ? 'Tabs are pictured before and after each act, in memory alone: open a command to see them' : 'The pictures are dropped, and none are taken');
  });
  return draw;
}
