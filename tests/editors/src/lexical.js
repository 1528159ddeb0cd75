import { registerRichText } from '@lexical/rich-text';
import { $createParagraphNode, $createTextNode, $getRoot, createEditor } from 'lexical';

const editor = createEditor({ namespace: 'tests', onError: (error) => { throw error; } });
editor.setRootElement(document.querySelector('#editor'));
registerRichText(editor);
editor.update(() => { $getRoot().clear().append($createParagraphNode().append($createTextNode('before'))); });
globalThis.editorText = () => editor.getEditorState().read(() => $getRoot().getTextContent());
