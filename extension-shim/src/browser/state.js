// @ts-check
// The policy, the tabs and the navigations of this browser: one of each a worker.

import { Policy } from '../policy/policy.js';
import { AgentGroups } from './agent_groups.js';
import { AgentTabs } from './agent_tabs.js';
import { TabDownloads } from './downloads.js';
import { ElementRefs } from './element_refs.js';
import { FrontWindow } from './front_window.js';
import { Navigations } from './navigations.js';
import { PageStates } from './page_states.js';
import { PictureMemory, screens } from './pictures.js';
import { OwnClipboards } from './own_clipboards.js';
import { PrivateTabs } from './private_tabs.js';
import { ReplacedTabs } from './replaced_tabs.js';
import { SiteSettings } from './site_settings.js';
import { SharedTabs } from './shared_tabs.js';
import { SnapshotMemory } from './snapshot_memory.js';
import { StepRecordings } from './step_recordings.js';
import { TabEvents } from './tab_events.js';
import { Tabs } from './tabs.js';
import { WakefulTabs } from './wakeful_tabs.js';

export const policy = new Policy();
export const navigations = new Navigations(policy);
export const elementRefs = new ElementRefs();
export const replacedTabs = new ReplacedTabs();
export const wakefulTabs = new WakefulTabs();
export const privateTabs = new PrivateTabs();
export const tabs = new Tabs(policy, (tabId) => elementRefs.prefixOf(tabId), replacedTabs, privateTabs);
elementRefs.onNewPrefix = () => tabs.handleNewPrefix();
export const sharedTabs = new SharedTabs();
export const snapshots = new SnapshotMemory();
export const ownClipboards = new OwnClipboards();
export const pictures = new PictureMemory();
export const stepRecordings = new StepRecordings();
export const frontWindow = new FrontWindow();
export const tabEvents = new TabEvents();
export const siteSettings = new SiteSettings();
export const pageStates = new PageStates(policy, siteSettings);
screens.emulatedIn = (tabId) => pageStates.screenOf(tabId);
export const tabDownloads = new TabDownloads(policy);
export const agentGroups = new AgentGroups();
export const agentTabs = new AgentTabs(policy, tabDownloads, agentGroups);
agentTabs.onKept = (tabId) => privateTabs.handleKept(tabId);
