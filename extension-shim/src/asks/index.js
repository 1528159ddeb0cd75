// @ts-check
// Questions to the person, as the wiring uses them.

import { AskNotifications } from './ask_notifications.js';
import { AskPictures } from './ask_pictures.js';
import { Asks } from './asks.js';

export const asks = new Asks();
export const askPictures = new AskPictures();
export const askNotifications = new AskNotifications();
