// What the page notices, for the tests: each event as one word.
const log = [];
const note = (event) => log.push(`${event.isTrusted ? '' : 'made-up '}${event.type} ${event.composedPath()[0].id}`);
for (const type of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick']) addEventListener(type, note, true);
const by = (id) => document.getElementById(id);
by('enable').addEventListener('click', () => setTimeout(() => { by('wait').disabled = false; }, 150));
by('to-field').addEventListener('click', () => by('field').focus());
by('alert').addEventListener('click', () => { window.answer = confirm('Really?'); });
by('later').addEventListener('click', () => setTimeout(() => { alert('Too late?'); window.asked = true; }, 50));
by('entry').addEventListener('click', () => { document.title = 'Entry chosen'; });
for (const mode of ['open', 'closed']) {
  const root = by(`${mode}-host`).attachShadow({ mode });
  const button = document.createElement('button');
  button.textContent = `In ${mode} shadow`;
  button.addEventListener('click', () => { document.title = `${mode} shadow clicked`; });
  root.append(button);
}
// The server is told, since a tab answers nothing else while a command runs in it.
by('gift').addEventListener('mousedown', () => fetch('/held'));
let at = 0;
window.move = () => {
  at = (at + 5) % 300;
  by('moving').style.left = `${at}px`;
  if (!window.halted) requestAnimationFrame(window.move);
};
const points = [];
for (const type of ['mousedown', 'mousemove', 'mouseup']) {
  by('canvas').addEventListener(type, (event) => {
    if (type === 'mousedown') points.length = 0;
    if (event.buttons || type === 'mouseup') points.push([type, Math.round(event.offsetX), Math.round(event.offsetY)]);
  });
}
window.seen = () => log.splice(0);
window.path = () => points.slice();
