// @ts-check
// What the worker has one of, shared by wiring and actions.

import { Navigations } from './navigations.js';
import { Tabs } from './tabs.js';

export const tabs = new Tabs();
export const navigations = new Navigations();
