import { defaultKeymap } from '@codemirror/commands';
import { EditorView, keymap } from '@codemirror/view';

const view = new EditorView({ doc: 'before', parent: document.querySelector('#editor'), extensions: [keymap.of(defaultKeymap)] });
globalThis.editorText = () => view.state.doc.toString();
