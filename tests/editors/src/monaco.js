import * as monaco from 'monaco-editor/editor/editor.api.js';
import 'monaco-editor/editor/browser/coreCommands.js';
import 'monaco-editor/editor/contrib/clipboard/browser/clipboard.js';

globalThis.MonacoEnvironment = { getWorker: () => new Worker(URL.createObjectURL(new Blob(['']))) };
const editor = monaco.editor.create(document.querySelector('#editor'), { value: 'before', language: 'plaintext' });
globalThis.editorText = () => editor.getValue();
