// @ts-check
// The mutual proof on one connection: challenge, hello, welcome. A program on the port
// that has not proven the key gets `hello` for a challenge, and nothing else.

/** @import {ChallengeFrame, ToExtension, WelcomeFrame} from '../../types/protocol.js' */

import { helloMac, makeNonce, PROTOCOL_VERSION, sameMac, welcomeMac } from './proof.js';

/**
 * @typedef {object} LocalIdentity
 * @property {number} port the one that was dialled
 * @property {string} extKey
 * @property {string} browserId
 * @property {string} instanceId
 */

export class Handshake {
  #self;
  #send;
  #helloNonce = makeNonce();
  #challengeNonce = '';
  /** @type {'opening' | 'proving' | 'over'} */
  #phase = 'opening';

  /** @param {LocalIdentity} self @param {(text: string) => void} send */
  constructor(self, send) {
    this.#self = self;
    this.#send = send;
  }

  /** From here on the daemon may have put this connection in the place of another one. */
  hasSentHello = false;

  /**
   * @param {ToExtension} frame @returns {Promise<WelcomeFrame | null>} the welcome that proves the daemon
   * @throws {Error} it does not
   */
  async handleFrame(frame) {
    if (this.#phase === 'opening' && frame.type === 'challenge') {
      this.#phase = 'proving';
      await this.#sendHello(/** @type {ChallengeFrame} */ (frame));
    } else if (this.#phase === 'proving' && frame.type === 'welcome') {
      const welcome = /** @type {WelcomeFrame} */ (frame);
      if (await this.#isProven(welcome)) return welcome;
    }
    return null;
  }

  /** @param {ChallengeFrame} challenge */
  async #sendHello({ nonce: challengeNonce }) {
    this.#challengeNonce = String(challengeNonce);
    const { extKey, browserId, instanceId } = this.#self;
    const mac = await helloMac(extKey, this.#transcript());
    const { version } = chrome.runtime.getManifest();
    const ids = { browser_id: browserId, instance_id: instanceId, extension_version: version };
    this.hasSentHello = true;
    this.#send(JSON.stringify({ type: 'hello', protocol: [PROTOCOL_VERSION], ...ids, nonce: this.#helloNonce, mac }));
  }

  #transcript() {
    const { port, instanceId } = this.#self;
    return { port, challengeNonce: this.#challengeNonce, helloNonce: this.#helloNonce, instanceId };
  }

  /** @param {WelcomeFrame} welcome @returns {Promise<boolean>} false: it was decided by another one */
  async #isProven(welcome) {
    const expected = await welcomeMac(this.#self.extKey, { ...this.#transcript(), epoch: String(welcome.epoch) });
    // Two welcomes at once must not both pass: the first that is checked decides.
    if (this.#phase === 'over') return false;
    this.#phase = 'over';
    if (!sameMac(expected, welcome.mac)) throw new Error('it does not know the key');
    return true;
  }
}
