// @ts-check
// Port and pairing key, written beside the manifest by `tabwire extension unpack`.

/** @typedef {{port: number, ext_key: string}} Config */

/** @param {any} value @returns {value is Config} */
function isConfig(value) {
  return Number.isInteger(value?.port) && value.port > 0 && value.port < 65536
    && typeof value.ext_key === 'string' && value.ext_key.length > 0;
}

/**
 * Read anew for each attempt: port and key may change while the browser runs.
 * @returns {Promise<Config | null>} null if the file is missing or not usable
 */
export async function loadConfig() {
  try {
    const response = await fetch(chrome.runtime.getURL('config.json'), { cache: 'no-store' });
    const config = await response.json();
    return isConfig(config) ? config : null;
  } catch {
    return null;
  }
}
