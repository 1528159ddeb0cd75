// @ts-check
// Files that a command gives to pages: the person is asked about those that no folder rule opens. The daemon knows which
// these are.

/** @import {AskedFile, CommandBody} from '../../types/protocol.js' */

import { ConsentNeeded, consentStale } from '../lib/consent.js';
import { ActionError } from '../lib/errors.js';
import { siteName } from './sites.js';
import { UPLOAD_FILES_MAX } from './limits.js';
import { stepPages, stepsIn } from './step_pages.js';

/** @typedef {(paths: string[], site: string) => Promise<AskedFile[]>} FileLook rejects if one of them can never be given */

/** Actions that name files for a page. */
const GIVING = new Set(['upload_file', 'dialog']);

/** @param {string} type @param {any} params of a command or of a step @returns {string[]} */
function pathsOf(type, params) {
  const paths = GIVING.has(type) ? params?.paths : [];
  return Array.isArray(paths) && paths.every((path) => typeof path === 'string') ? paths : [];
}

/** @param {Pick<CommandBody, 'type' | 'params'>} command @returns {boolean} whether it names files for a page */
export function givesFiles({ type, params }) {
  return pathsOf(type, params).length > 0 || type === 'batch' && stepsIn(params).some((step) => pathsOf(step?.action, step).length > 0);
}

/**
 * The files that a command names, and the pages that get them as far as that is known before it begins.
 * @param {Pick<CommandBody, 'type' | 'params'>} command @param {string} url of the page that is there
 * @returns {{url: string, isOpen: boolean, paths: string[]}[]} `isOpen`: the page is there now
 */
export function filesToGive({ type, params }, url) {
  if (type !== 'batch') return [{ url, isOpen: true, paths: pathsOf(type, params) }].filter(({ paths }) => paths.length > 0);
  return stepPages(params, [{ url, isOpen: true }]).flatMap(({ step, pages }) => {
    const paths = pathsOf(step.action, step);
    return paths.length > 0 ? pages.map((page) => ({ ...page, paths })) : [];
  });
}

/**
 * @param {CommandBody} command @param {string} url of the page in its tab @param {{look: FileLook, documentNow: () => Promise<string | undefined>}} by
 * @throws {ConsentNeeded | ActionError} the person is to be asked about files first, a file can never be given, or the word is on
 *   another page or another state of the file
 */
export async function askBeforeGiving(command, url, { look, documentNow }) {
  /** @type {Map<string, {isOpen: boolean, files: Map<string, AskedFile>}>} */
  const sites = new Map();
  for (const { url: of, isOpen, paths } of filesToGive(command, url)) {
    const name = siteName(of);
    const site = sites.get(name) ?? { isOpen: false, files: new Map() };
    sites.set(name, site);
    site.isOpen ||= isOpen;
    for (const file of await lookAt(command, paths, name, look)) site.files.set(file.path, file);
  }
  for (const [site, { isOpen, files: { size }, files }] of sites) {
    if (size === 0) continue;
    if (size > UPLOAD_FILES_MAX) throw new ActionError('file_too_large', `the user would be asked about ${size} files; at most ${UPLOAD_FILES_MAX} are asked about at once`, undefined, { hint: 'Give the files in several calls.', mayHaveRun: false });
    const document = isOpen ? await documentNow() : undefined;
    throw new ConsentNeeded({ kind: 'file', site, ...(document && { document }), files: [...files.values()] });
  }
  for (const { kind, site, document } of command.allowed ?? []) {
    if (kind === 'file' && document !== undefined && document !== await documentNow()) throw consentStale(site);
  }
}

/** @param {CommandBody} command @param {string[]} paths @param {string} site @param {FileLook} look @returns {Promise<AskedFile[]>} */
async function lookAt({ type }, paths, site, look) {
  try {
    return await look(paths, site);
  } catch (error) {
    // An earlier step may make the file. One that is not there by then is refused at its step.
    if (type === 'batch') return [];
    throw error instanceof ActionError ? error.after({ ran: false }) : error;
  }
}
