// @ts-check
// Questions to the person, as the wiring uses them.

import { frontWindow, policy, tabs } from '../browser/state.js';
import { AskNotifications } from './ask_notifications.js';
import { AskPictures } from './ask_pictures.js';
import { Asks } from './asks.js';
import { HandOvers } from './hand_overs.js';

export const asks = new Asks();
export const handOvers = new HandOvers(policy, (tabId) => tabs.known(tabId), (tabId) => tabs.bringToFront(tabId), frontWindow);
export const askPictures = new AskPictures();
export const askNotifications = new AskNotifications();
