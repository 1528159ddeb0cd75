// A tab of documents that answer as the test says, in place of `chrome.scripting`.

/**
 * @param {{frameId: number, parentFrameId?: number, documentId: string, url?: string, origin?: string, world: Record<string, any>, refuses?: boolean, hangs?: boolean}[]} documents
 *   `world`: the answers, by the names of the questions
 */
export function installDocuments(documents) {
  const asked = [];
  const injected = new Set();
  const frames = () => documents.map(({ frameId, parentFrameId = -1, documentId, url = 'https://page.test/' }) => ({ frameId, parentFrameId, documentId, url, errorOccurred: false }));
  Object.assign(chrome, {
    webNavigation: { getFrame: async () => frames()[0], getAllFrames: async () => frames() },
    scripting: {
      async executeScript({ target, files, args }) {
        const found = target.documentIds.map((id) => documents.find(({ documentId }) => documentId === id));
        if (found.some((one) => !one)) throw new Error('No document with id');
        if (found.some(({ refuses }) => refuses)) throw new Error('Cannot access contents of the page');
        if (found.some(({ hangs }) => hangs)) return new Promise(() => {});
        if (files) {
          for (const id of target.documentIds) injected.add(id);
          return [];
        }
        const [name, argument] = args ?? [];
        asked.push([name, ...target.documentIds]);
        return found.map(({ frameId, documentId, origin = 'https://page.test', world }) => {
          if (!injected.has(documentId)) return { frameId, documentId, result: { isAbsent: true } };
          const answer = world[name];
          return { frameId, documentId, result: { value: typeof answer === 'function' ? answer(argument) : answer, origin } };
        });
      },
    },
  });
  return { asked, injected, documents };
}
