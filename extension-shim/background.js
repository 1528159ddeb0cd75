// @ts-check
// The worker, at the path that stays. A browser that starts does not look for a moved worker: it keeps the path that it
// registered, and without a file there the extension would be dead until a person reloads it.

import './src/worker/background.js';
