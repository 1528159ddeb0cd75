// @ts-check
// The policy, the tabs and the navigations of this browser: one of each a worker.

import { Policy } from '../policy/policy.js';
import { Navigations } from './navigations.js';
import { Tabs } from './tabs.js';

export const policy = new Policy();
export const tabs = new Tabs(policy);
export const navigations = new Navigations(policy);
