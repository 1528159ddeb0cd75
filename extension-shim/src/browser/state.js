// @ts-check
// What the worker has one of, below recording and drawing.

import { Policy } from '../policy/policy.js';
import { Navigations } from './navigations.js';
import { Tabs } from './tabs.js';

export const policy = new Policy();
export const tabs = new Tabs(policy);
export const navigations = new Navigations(policy);
