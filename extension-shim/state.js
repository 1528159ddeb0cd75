// @ts-check
// What the worker has one of, shared by wiring and actions.

import { Recorder } from './capture/recorder.js';
import { Navigations } from './navigations.js';
import { Tabs } from './tabs.js';

export const tabs = new Tabs();
export const navigations = new Navigations();
export const recorder = new Recorder();
