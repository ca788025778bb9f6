/**
 * Key in the data of the Secret with the owner's token. The value is the ISO time until which the token has the rights
 * of an owner.
 */
export const BREAK_GLASS_KEY = 'break-glass-until'
/** Maximum time from now to that of the entry. A later time is ignored. */
export const MAX_BREAK_GLASS_MS = 24 * 60 * 60_000
