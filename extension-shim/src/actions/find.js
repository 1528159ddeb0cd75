// @ts-check
// The elements that fit a description, with refs.

/** @import {Context, Outcome} from '../../types/protocol.js' */

import { pdfWords } from '../browser/pdf_page.js';
import { queryInWords } from '../browser/target_query.js';
import { findTargets, nearestElements } from '../browser/targets.js';
import { checkedFlag, checkedInteger, checkedText } from '../commands/params.js';
import { ActionError } from '../lib/errors.js';
import { FIND_MATCHES, FIND_MATCHES_USUAL } from './limits.js';
import { readPage } from './page_reading.js';

const TEXTS = ['text', 'role', 'name', 'label', 'placeholder', 'testid'];

/** @param {Record<string, any>} params @param {Context} context @returns {Promise<Outcome>} */
export async function find({ exact, limit = FIND_MATCHES_USUAL, ...params }, context) {
  const given = TEXTS.filter((name) => params[name] !== undefined).map((name) => [name, checkedText(name, params[name])]);
  if (given.length === 0) throw new ActionError('invalid_params', `give at least one of ${TEXTS.join(', ')}`);
  const query = { ...Object.fromEntries(given), exact: checkedFlag('exact', exact) };
  const most = checkedInteger('limit', limit, FIND_MATCHES);
  return readPage(context, async (tabId) => {
    const { found, total } = await findTargets(tabId, query, most);
    if (total === 0) {
      const words = await pdfWords(tabId);
      if (words) return { value: words, type: 'string' };
      const nearest = await nearestElements(tabId, query);
      return { value: `Nothing fits ${queryInWords(query)}.${nearest.length > 0 ? ` Nearest: ${nearest.map(line).join(', ')}.` : ''}`, type: 'string' };
    }
    const rest = total > found.length ? [`… ${total - found.length} more: give a larger limit, or describe it more narrowly`] : [];
    return { value: [...found.map(line), ...rest].join('\n'), type: 'string' };
  });
}

/** @param {import('../browser/targets.js').FoundElement} found */
function line({ role, name, ref, more, isVisible }) {
  return `${role}${name ? ` ${JSON.stringify(name)}` : ''} ${ref}${isVisible ? '' : ' hidden'}${more}`;
}
