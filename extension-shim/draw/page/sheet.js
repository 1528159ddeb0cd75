// @ts-check
// How the overlay looks. A constructable sheet: a page's policy forbids inline styles, not this.

/** Of all marks: far from what pages are usually painted in. */
const DRAW_INK = '#e6006e';

const DRAW_STYLE = `
  :host { all: initial !important; position: fixed !important; inset: 0 !important; pointer-events: none !important; }
  * { box-sizing: border-box; }
  dialog {
    position: fixed; inset: 0; width: 100%; height: 100%; max-width: none; max-height: none; margin: 0; padding: 0;
    border: 0; overflow: hidden; background: transparent; pointer-events: auto;
    color: #fff; font: 14px/1.4 system-ui, sans-serif; color-scheme: dark; letter-spacing: normal; text-align: start;
  }
  dialog:not([open]) { display: none; }
  dialog::backdrop { background: transparent; }
  .surface { position: absolute; inset: 0; cursor: crosshair; touch-action: none; outline: none; }
  .surface:focus-visible { box-shadow: inset 0 0 0 2px #fff, inset 0 0 0 5px #0b57d0; }
  svg { position: absolute; inset: 0; width: 100%; height: 100%; pointer-events: none; fill: none; }
  path { stroke-linecap: round; stroke-linejoin: round; }
  .edge { stroke: #000; stroke-opacity: .55; stroke-width: 8; }
  .halo { stroke: #fff; stroke-width: 6; }
  .ink { stroke: ${DRAW_INK}; stroke-width: 3; }
  circle { fill: ${DRAW_INK}; stroke: #fff; stroke-width: 2; }
  text { fill: #fff; font: 600 12px system-ui, sans-serif; text-anchor: middle; dominant-baseline: central; }
  .label, .field {
    position: absolute; max-width: 260px; padding: 6px 10px; border-radius: 6px; background: #fff; color: #16191d;
    border: 2px solid ${DRAW_INK}; box-shadow: 0 0 0 2px #fff, 0 0 0 3px rgb(0 0 0 / .55);
  }
  .label { pointer-events: none; white-space: pre-wrap; overflow-wrap: anywhere; }
  .field { width: 260px; height: 72px; font: inherit; resize: none; color-scheme: light; outline: none; }
  .field:focus-visible { box-shadow: 0 0 0 2px #fff, 0 0 0 5px #0b57d0; }
  .bar {
    position: absolute; left: 50%; bottom: 16px; transform: translateX(-50%); width: max-content; max-width: calc(100% - 16px);
    display: grid; gap: 8px; padding: 12px 14px; border-radius: 10px; background: #16191d; border: 1px solid #8b949e;
    box-shadow: 0 0 0 1px rgb(0 0 0 / .6), 0 8px 28px rgb(0 0 0 / .45);
  }
  .bar.top { bottom: auto; top: 16px; }
  .bar p { margin: 0; }
  .why { font-weight: 600; }
  .session { margin-left: 8px; padding: 1px 8px; border-radius: 9px; background: #30363d; font-weight: 400; overflow-wrap: anywhere; }
  .session:empty { display: none; }
  .said { width: 0; min-width: 100%; min-height: 20px; color: #d0d7de; font-size: 13px; }
  .said.trouble { color: #ffb4a9; }
  .row { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
  .tools { display: flex; flex-wrap: wrap; gap: 6px; padding-right: 8px; border-right: 1px solid #484f58; }
  button {
    display: inline-flex; gap: 6px; align-items: center; min-height: 32px; padding: 4px 10px; border-radius: 6px;
    border: 1px solid #6e7681; background: #24292f; color: #fff; font: inherit; cursor: pointer;
  }
  button:hover { border-color: #fff; }
  button:focus-visible { outline: 3px solid #79c0ff; outline-offset: 2px; }
  button[aria-pressed="true"] { background: #fff; color: #16191d; border-color: #fff; font-weight: 600; }
  button.done { background: ${DRAW_INK}; border-color: ${DRAW_INK}; font-weight: 600; }
  button.done:hover { border-color: #fff; }
  button:disabled { opacity: .45; cursor: default; }
  kbd { padding: 0 5px; border-radius: 4px; border: 1px solid currentColor; opacity: .8; font: 11px/16px system-ui, sans-serif; }
  .cross { stroke: ${DRAW_INK}; stroke-width: 2; }
  .cross-halo { stroke: #fff; stroke-width: 5; }
  .busy .surface { cursor: progress; }
  .picture .bar, .picture .cross, .picture .cross-halo, .picture .field { display: none; }
  .picture .surface { box-shadow: none; }
`;
