// @ts-check
// The details of one command: every phase, the pictures, the arguments, the result, the error and the next step.

import { facts, part } from './detail_panel.js';
import { act, ask } from './feed.js';
import { byId, clock, element, length, say } from './parts.js';
import { drawSegments, phaseTable } from './phases.js';
import { PictureStrip } from './pictures.js';

/** @import {Row} from './commands.js' */
/** @import {DetailPanel} from './detail_panel.js' */

export class CommandDetail {
  #panel;
  #token;
  #pictures;
  /** Of the state that is on the screen. */
  #about = '';
  #asked = 0;
  /** Of the shown command. */
  #mayHaveRun = false;
  /** The person knows that the shown command may have run. */
  #isWarned = false;
  /** @type {(id: string) => void} the new command of a retry */
  onRetried = () => {};

  /** @param {DetailPanel} panel @param {string} token */
  constructor(panel, token) {
    this.#panel = panel;
    this.#token = token;
    this.#pictures = new PictureStrip(token);
    byId('stop').addEventListener('click', () => { this.#stop(); });
    byId('retry').addEventListener('click', () => { this.#retry(); });
  }

  /** @param {Row | undefined} row */
  async show(row) {
    if (!row) return;
    if (this.#panel.open(row.id, row.action)) {
      this.#about = '';
      this.#isWarned = false;
    }
    await this.update(row);
  }

  /** @param {Row | undefined} row as it is now */
  async update(row) {
    const about = row && `${row.id} ${row.status} ${row.told.trace.length}`;
    if (!row || row.id !== this.#panel.shown || about === this.#about) return;
    this.#about = about ?? '';
    this.#asked += 1;
    const asked = this.#asked;
    this.#draw(row, null);
    const response = await ask(`/dashboard/commands/${encodeURIComponent(row.id)}`, this.#token).catch(() => null);
    const more = response?.ok ? await response.json().catch(() => null) : null;
    // Another one may have been chosen meanwhile.
    if (asked === this.#asked) this.#draw(row, more ?? { isGone: true });
  }

  /** The stream shows the end of the command; this page need not guess it. */
  async #stop() {
    const [button, id] = [byId('stop'), this.#panel.shown];
    button.disabled = true;
    await act(`/dashboard/stop/${encodeURIComponent(id)}`, this.#token);
    button.disabled = false;
  }

  /** Whether it may be sent again, and with which arguments, the daemon decides. */
  async #retry() {
    const [button, id] = [byId('retry'), this.#panel.shown];
    if (this.#mayHaveRun && !this.#isWarned) {
      this.#isWarned = true;
      return say(byId('detail-said'), 'It may have run already, and would then run a second time. Look at the page first; press Retry again to send it all the same.');
    }
    button.disabled = true;
    const told = await act(`/dashboard/retry/${encodeURIComponent(id)}`, this.#token);
    button.disabled = false;
    // Another one may have been chosen meanwhile.
    if (id !== this.#panel.shown) return;
    const again = told?.is_new ? '' : ' It was sent before: this is that one.';
    say(byId('detail-said'), told?.correlation_id ? `Sent as a new command.${again}` : `Not sent. ${told?.refused ?? 'The daemon did not answer.'}`);
    if (told?.correlation_id) this.onRetried(told.correlation_id);
  }

  /** @param {Row} row @param {any} more null: on its way */
  #draw(row, more) {
    const { told } = row;
    if (row.id !== this.#panel.shown) return;
    // It is not drawn anew with the rest: a click that has begun would be lost.
    byId('stop').hidden = row.to !== undefined;
    byId('retry').hidden = row.end !== 'bad' || row.told.is_job;
    // One that failed has answered, and its error says how far it came.
    this.#mayHaveRun = told.may_have_run && row.status !== 'error';
    const about = facts({
      Status: element('span', { class: 'word', 'data-end': row.end }, row.status.replaceAll('_', ' ') + (told.reason ? ` · ${told.reason}` : '')),
      Agent: row.agent + (told.owner === 'user' ? '' : ` (${told.owner})`),
      Target: row.target || '–',
      Tab: [row.where, told.browser_label].filter(Boolean).join(' in ') || '–',
      Began: clock(row.from),
      Took: row.to === undefined ? 'not over' : length(row.to - row.from),
      Id: element('span', { class: 'mono' }, row.id),
    });
    const parts = [about];
    if (told.error) parts.push(part('Error', element('p', { class: 'note' }, told.error)));
    if (told.message && row.to === undefined) parts.push(part('Now', element('p', {}, told.message)));
    if (told.hint && row.end === 'bad') parts.push(part('Next step for the agent', element('p', {}, told.hint)));
    const whole = element('div', { class: 'whole', 'aria-hidden': 'true' });
    drawSegments(whole, row.segments, { from: row.from, to: Math.max(row.to ?? Date.now(), row.from + 1) });
    parts.push(part('Phases', whole, phaseTable(row.told.trace)));
    const around = this.#pictures.around(row.id, more?.moments ?? []);
    if (around) parts.push(part('Before and after', around));
    const pictures = this.#pictures.of(row.id, more?.pictures);
    if (pictures) parts.push(part(pictures.childElementCount === 1 ? 'Picture' : 'Pictures', pictures));
    if (more?.arguments) parts.push(part('Arguments', element('pre', { tabindex: '0' }, more.arguments)));
    if (more?.result) parts.push(part('Result', element('pre', { tabindex: '0' }, more.result)));
    if (more?.isGone) parts.push(element('p', { class: 'hint' }, 'The daemon has dropped the arguments and the result: it keeps them for a minute after the end.'));
    this.#panel.draw(row.id, parts);
  }
}
