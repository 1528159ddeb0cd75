// @ts-check
// Draw mode, as the wiring and the action use it.

import { DrawMode } from './draw_mode.js';

export const drawMode = new DrawMode();
