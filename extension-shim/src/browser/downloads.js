// @ts-check
// The description of a download that came instead of a page.

import { clip } from '../lib/clip.js';
import { FILE_NAME_MAX } from './limits.js';

/**
 * @typedef {object} DownloadItem as the browser has it
 * @property {number} id
 * @property {string} url before redirects
 * @property {string} finalUrl
 * @property {string} filename the whole path; empty until the browser has chosen one
 * @property {string} mime
 * @property {number} totalBytes -1: not known
 *
 * @typedef {{file_name: string, url: string, mime_type?: string, bytes?: number}} Download
 */

/** @param {DownloadItem} item @returns {Download} without the folder, which is the person's */
export function downloadOf({ finalUrl, filename, mime, totalBytes }) {
  return {
    file_name: clip(lastPart(filename) || lastPartOf(finalUrl) || 'download', FILE_NAME_MAX),
    url: finalUrl,
    ...(mime && { mime_type: clip(mime, FILE_NAME_MAX) }),
    ...(totalBytes >= 0 && { bytes: totalBytes }),
  };
}

/** @param {string} url @returns {string} */
function lastPartOf(url) {
  return URL.canParse(url) ? lastPart(decoded(new URL(url).pathname)) : '';
}

/** @param {string} path @returns {string} */
function lastPart(path) {
  return path.split(/[/\\]/).at(-1) ?? '';
}

/** @param {string} text @returns {string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
