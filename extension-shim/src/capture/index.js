// @ts-check
// The recorder, as the wiring and the actions use it.

import { policy } from '../browser/state.js';
import { Recorder } from './recorder.js';

export const recorder = new Recorder(policy);
