import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** Every field is controlled: one that has not heard of a change is put back by the next one. */
function Form() {
  const [state, set] = useState({ name: '', upper: '', about: '', color: '#000000', day: '', size: '5', list: 'a', agree: false, kind: '' });
  const field = (name, value = (target) => target.value) => ({ id: name, 'aria-label': name, value: state[name], onChange: ({ target }) => set({ ...state, [name]: value(target) }) });
  const option = (value) => createElement('option', { key: value, value }, value.toUpperCase());
  const radio = (value) => createElement('label', { key: value }, createElement('input', { type: 'radio', name: 'kind', checked: state.kind === value, onChange: () => set({ ...state, kind: value }) }), value);
  globalThis.formState = state;
  return createElement('form', { onSubmit: (event) => { event.preventDefault(); globalThis.submitted = state; } },
    createElement('input', field('name')),
    createElement('input', field('upper', ({ value }) => value.toUpperCase().replace(/\d/g, ''))),
    createElement('textarea', field('about')),
    createElement('input', { type: 'color', ...field('color') }),
    createElement('input', { type: 'date', ...field('day') }),
    createElement('input', { type: 'range', max: 10, ...field('size') }),
    createElement('select', field('list'), ['a', 'b', 'c'].map(option)),
    createElement('input', { type: 'checkbox', id: 'agree', 'aria-label': 'agree', checked: state.agree, onChange: ({ target }) => set({ ...state, agree: target.checked }) }),
    ['x', 'y'].map(radio),
    createElement('button', null, 'Send'));
}

createRoot(document.querySelector('#editor')).render(createElement(Form));
