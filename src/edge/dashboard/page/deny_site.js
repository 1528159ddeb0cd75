// @ts-check
// Denies agents a site that the person names. No rule is lifted here.

import { ask } from './feed.js';
import { byId, element, say } from './parts.js';

/** @param {string} token @param {() => string[]} sites that are open now */
export function offerDenial(token, sites) {
  const [dialog, field, button] = [byId('denying'), byId('denied-site'), byId('denying-yes')];
  byId('deny-site').addEventListener('click', () => {
    field.value = '';
    say(byId('denying-said'), '');
    byId('open-sites').replaceChildren(...sites().map((site) => element('option', { value: site })));
    dialog.showModal();
  });
  byId('denying-no').addEventListener('click', () => dialog.close());
  byId('denying-form').addEventListener('submit', async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    const sent = { method: 'POST', body: JSON.stringify({ deny: field.value.trim() }) };
    const response = await ask('/dashboard/sites', token, sent).catch(() => null);
    const told = await response?.json().catch(() => null);
    button.disabled = false;
    if (!response?.ok) return say(byId('denying-said'), told?.message ? `${told.message}. ${told.hint}` : 'The daemon did not answer.');
    dialog.close();
    say(byId('said'), `${told.denied} is denied to agents`);
  });
}
