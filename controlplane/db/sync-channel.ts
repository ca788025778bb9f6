/** Notifies every replica at commit that kill switches (`kill`) or one approval (its id) changed. */
export const SYNC_CHANNEL = 'chaperone_sync'
