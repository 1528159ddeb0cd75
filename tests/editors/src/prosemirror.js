import { baseKeymap } from 'prosemirror-commands';
import { keymap } from 'prosemirror-keymap';
import { schema } from 'prosemirror-schema-basic';
import { EditorState } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';

const doc = schema.node('doc', null, [schema.node('paragraph', null, [schema.text('before')])]);
const view = new EditorView(document.querySelector('#editor'), { state: EditorState.create({ doc, plugins: [keymap(baseKeymap)] }) });
globalThis.editorText = () => {
  const lines = [];
  view.state.doc.forEach((block) => lines.push(block.textBetween(0, block.content.size, '\n', '\n')));
  return lines.join('\n');
};
