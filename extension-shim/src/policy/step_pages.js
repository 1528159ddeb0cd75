// @ts-check
// The pages that the steps of a batch are on, as far as that is known before its first step.

/** @typedef {{url: string, isOpen: boolean}} StepPage `isOpen`: it is there now */

/** @param {any} params of a batch @returns {any[]} */
export function stepsIn(params) {
  return Array.isArray(params?.steps) ? params.steps : [];
}

/**
 * @param {any} params of a batch @param {StepPage[]} here the page that is there now
 * @returns {{step: any, pages: StepPage[]}[]} no pages: where the step is, is known only then
 */
export function stepPages(params, here) {
  let pages = here;
  return stepsIn(params).map((given) => {
    const step = given ?? {};
    const { action, url } = step;
    if (action === 'navigate' || action === 'tab_open') pages = typeof url === 'string' && !url.includes('{{') ? [{ url, isOpen: false }] : [];
    else if (action === 'back' || action === 'forward') pages = [];
    return { step, pages };
  });
}
