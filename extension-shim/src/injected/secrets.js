// @ts-check
// The secrets of a page, for modules: the page world has the rule.

import './world/secrets.js';

/** @typedef {SecretRules} Secrets */

const { Secrets, SECRET_TABLE } = /** @type {any} */ (globalThis);

export { Secrets, SECRET_TABLE };

/** An expression whose value is a `Secrets` with the table. */
export const secretsSource = () => `new(${Secrets})(${JSON.stringify(SECRET_TABLE)})`;
