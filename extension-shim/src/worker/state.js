// @ts-check
// What the worker has one of, shared by wiring and actions.

import { Recorder } from '../capture/recorder.js';
import { Navigations } from '../browser/navigations.js';
import { OlderExtensions } from '../policy/older_extensions.js';
import { Policy } from '../policy/policy.js';
import { Tabs } from '../browser/tabs.js';

export const policy = new Policy();
export const tabs = new Tabs(policy);
export const navigations = new Navigations(policy);
export const recorder = new Recorder(policy);
export const olderExtensions = new OlderExtensions();
