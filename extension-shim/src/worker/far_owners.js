// @ts-check
// The owners on other machines, which the daemon lists. The person disconnects one in the popup, or lets it in again.

/** @import {FarOwner, FarOwnerChange, FarOwnersFrame, TenantTrouble} from '../../types/protocol.js' */

import { AskedView } from './asked_view.js';

/** @typedef {{far_owners: FarOwner[], tenant_troubles: TenantTrouble[], far_problem: string}} FarOwnersState `far_problem`: why the person's last change does not count */

/** @extends {AskedView<FarOwnersState>} */
export class FarOwners extends AskedView {
  constructor() {
    super({ far_owners: [], tenant_troubles: [], far_problem: '' }, { type: 'far_owners' });
  }

  /** @param {FarOwnerChange} change @returns {boolean} false: no daemon is connected */
  change({ owner, allowed }) {
    return this.ask({ type: 'far_owners', change: { owner, allowed } });
  }

  /** @param {FarOwnersFrame} frame */
  handleFrame({ owners, troubles = [], problem = '' }) {
    this.set({ far_owners: owners, tenant_troubles: troubles, far_problem: problem });
  }
}
