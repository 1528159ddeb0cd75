// @ts-check
// The tools that a page offers to agents (WebMCP). A classic script: our own world has its own functions of the browser's
// interface, which the page cannot replace.

class PageToolbox {
  /** More than this of a page's own words is not for agents. */
  static #TEXT_MAX = 20_000;
  static #TOOLS_MAX = 100;
  static #RESULT_MAX = 500_000;
  /** @type {AbortController | null} */
  #abort = null;
  #context = Object.getOwnPropertyDescriptor(Document.prototype, 'modelContext')?.get;

  /** Each tool of this document as one text that says all of it. @returns {Promise<{isMissing: true} | {definitions: string[], total: number}>} */
  async list() {
    const tools = await this.#tools();
    if (tools === null) return { isMissing: true };
    const definitions = tools.slice(0, PageToolbox.#TOOLS_MAX).map((tool) => this.#definition(tool));
    return { definitions: definitions.filter((definition) => definition.length <= PageToolbox.#TEXT_MAX), total: tools.length };
  }

  /**
   * @param {string} definition of the tool, as it was listed @param {object} input
   * @returns {Promise<{isMissing: true} | {isChanged: true} | {failure: string} | {result: string, isCut: boolean}>}
   */
  async call(definition, input) {
    const tools = await this.#tools();
    if (tools === null) return { isMissing: true };
    const tool = tools.find((one) => this.#definition(one) === definition);
    if (!tool) return { isChanged: true };
    const abort = new AbortController();
    this.#abort = abort;
    try {
      // No script of the page runs between the look at the definition and this call.
      const result = String(await this.#context?.call(document).executeTool(tool, input, { signal: abort.signal }) ?? 'null');
      return { result: result.slice(0, PageToolbox.#RESULT_MAX), isCut: result.length > PageToolbox.#RESULT_MAX };
    } catch (error) {
      return { failure: String(/** @type {any} */ (error)?.message ?? error).slice(0, 1_000) };
    }
  }

  /** Nobody waits for the result any more. */
  stop() {
    this.#abort?.abort();
  }

  /** @returns {Promise<any[] | null>} those of this document alone; null: this browser has no such interface, or not here */
  async #tools() {
    const context = this.#context?.call(document);
    // It throws where the page's own policy forbids tools.
    const tools = await context?.getTools?.().catch(() => null);
    if (!tools) return null;
    return tools.filter((/** @type {any} */ tool) => tool.window === window);
  }

  /** @param {any} tool @returns {string} */
  #definition({ name, title, description, inputSchema, annotations }) {
    return JSON.stringify({ name, ...(title && { title }), description, inputSchema, annotations });
  }
}
