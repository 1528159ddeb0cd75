// @ts-check
// The optional permissions of the extension that acts of agents need: their names for a person, and why they are needed.

/** @type {Record<string, {name: string, why: string}>} */
const KNOWN = {
  contentSettings: { name: 'to change settings of sites', why: 'Tabwire needs it to set what a site may use, such as your location or the camera; it changes nothing without your word on the site, and puts all back.' },
};

/** @param {string} permission @returns {string} as the end of “Agent x needs the browser's permission …” */
export function permissionName(permission) {
  return KNOWN[permission]?.name ?? permission;
}

/** @param {string} permission @returns {string} one sentence for the person */
export function permissionReason(permission) {
  return KNOWN[permission]?.why ?? '';
}
