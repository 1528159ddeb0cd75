// @ts-check
// Barriers for people with disabilities, found by axe-core, which is loaded before this script into the same world. A
// classic script, loaded on request.

/**
 * @typedef {object} AuditOptions
 * @property {string[]} [rules] only these
 * @property {string[]} [tags] only rules with one of these
 * @property {boolean} isPart the root is not the whole document
 * @property {boolean} isFrame the document stands in another one
 *
 * @typedef {object} RawFinding of one rule
 * @property {string} rule
 * @property {string} impact
 * @property {string} help
 * @property {string} help_url
 * @property {string[]} criteria of WCAG
 * @property {number} count
 * @property {{element: any, fix: string[]}[]} nodes the first of them
 */

class PageAudit {
  /** Rules that compare all documents of a page, or are about the outermost one: in a frame alone they say nothing true. */
  static #OF_WHOLE_PAGES = ['accesskeys', 'bypass', 'document-title', 'frame-title-unique', 'heading-order', 'html-has-lang', 'identical-links-same-purpose', 'landmark-one-main', 'landmark-unique', 'page-has-heading-one', 'region'];
  /** More elements of one rule say the same again. */
  static #NODES_MAX = 50;
  #axe;
  #dom;
  #words;

  /** @param {any} axe @param {PageDom} dom @param {PageWords} words */
  constructor(axe, dom, words) {
    this.#axe = axe;
    this.#dom = dom;
    this.#words = words;
    // Its own messages between frames would reach the page's scripts, and theirs would reach it.
    axe.frameMessenger({ open: () => () => {}, post: () => false });
  }

  get version() {
    return String(this.#axe.version);
  }

  /** @param {AuditOptions} options @returns {{rules: string[], tags: string[]}} those that there are not */
  unknown({ rules = [], tags = [] }) {
    /** @type {{ruleId: string, tags: string[]}[]} */
    const all = this.#axe.getRules();
    return { rules: rules.filter((rule) => !all.some(({ ruleId }) => ruleId === rule)), tags: tags.filter((tag) => !all.some((one) => one.tags.includes(tag))) };
  }

  /** @param {string} rule that there is not @returns {string[]} those that are called nearly so */
  nearest(rule) {
    const pairs = this.#words.pairs(rule);
    const rated = this.#axe.getRules().map((/** @type {any} */ { ruleId }) => ({ ruleId, likeness: this.#words.likeness(pairs, this.#words.pairs(ruleId)) }));
    return rated.sort((/** @type {any} */ a, /** @type {any} */ b) => b.likeness - a.likeness).slice(0, 3).map((/** @type {any} */ { ruleId }) => ruleId);
  }

  /** @param {any} root an element @param {AuditOptions} options @returns {Promise<{violations: RawFinding[], incomplete: RawFinding[], passes: number}>} */
  async run(root, { rules, tags, isPart, isFrame }) {
    const only = rules ? { type: 'rule', values: rules } : tags ? { type: 'tag', values: tags } : undefined;
    // The frames are asked one by one, so that none is untested.
    const off = Object.fromEntries(['frame-tested', ...(isFrame ? PageAudit.#OF_WHOLE_PAGES : [])].map((rule) => [rule, { enabled: false }]));
    const context = { include: [root], page: !isPart && !isFrame, initiator: true };
    const { violations, incomplete, passes } = await this.#axe.run(context, {
      ...(only && { runOnly: only }), rules: off, resultTypes: ['violations', 'incomplete'], elementRef: true, selectors: false,
      // Nothing is fetched.
      iframes: false, preload: false,
    });
    return { violations: violations.map((/** @type {any} */ one) => this.#finding(one)), incomplete: incomplete.map((/** @type {any} */ one) => this.#finding(one)), passes: passes.length };
  }

  /** @param {any} found @returns {RawFinding} */
  #finding({ id, impact, help, helpUrl, tags, nodes }) {
    const criteria = tags.filter((/** @type {string} */ tag) => /^wcag\d{3,}$/.test(tag)).map((/** @type {string} */ tag) => [...tag.slice(4)].join('.').replace(/^(\d\.\d\.)(\d)\.(\d)$/, '$1$2$3'));
    const told = nodes.filter((/** @type {any} */ { element }) => element && this.#dom.isElement(element)).slice(0, PageAudit.#NODES_MAX);
    return {
      rule: id, impact: impact ?? 'minor', help, help_url: helpUrl, criteria, count: nodes.length,
      nodes: told.map((/** @type {any} */ { element, any, all, none }) => ({ element, fix: this.#fixes({ any, all, none }) })),
    };
  }

  /** The ways to remove a barrier: all of the first ones, and one of the others. @param {{any: any[], all: any[], none: any[]}} checks @returns {string[]} */
  #fixes({ any, all, none }) {
    const said = (/** @type {any} */ { message }) => this.#words.shown(String(message), 300);
    const must = [...all, ...none].map(said);
    if (any.length === 1) return [...must, said(any[0])];
    return any.length === 0 ? must : [...must, `one of these: ${any.map(said).join('; ')}`];
  }
}

// An element that the page gives this name shows as an inherited property.
if (!Object.hasOwn(globalThis, 'tabwireAudit')) Object.defineProperty(globalThis, 'tabwireAudit', { value: PageAudit });
