// @ts-check
// How a person is shown the words of an agent, in the popup and in the page to draw in: as text, in boxes of their own
// (`agent_words.css`). The boxes hold agents' words only, and agents' words stand in boxes only.

/** @param {{client: string, prompt: string}} request @returns {HTMLElement[]} the agent's name, and its prompt */
export function agentWords({ client, prompt }) {
  const who = document.createElement('div');
  who.className = 'agent';
  who.append(...(client ? ['Agent ', boxOf('b', client)] : ['An agent without a name']));
  return prompt ? [who, boxOf('blockquote', prompt)] : [who];
}

/** @param {string} words of an agent, for a click @returns {HTMLButtonElement} */
export function wordsButton(words) {
  const button = Object.assign(document.createElement('button'), { type: 'button' });
  button.append(boxOf('b', words));
  return button;
}

/** @param {'b' | 'blockquote'} tag @param {string} words */
function boxOf(tag, words) {
  const box = document.createElement(tag);
  box.className = 'theirs';
  box.dir = 'auto';
  box.textContent = words;
  return box;
}
