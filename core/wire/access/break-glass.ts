/**
 * Key in the data of the Secret with the owner's token. Its value is the ISO 8601 time until which the token has the
 * rights of an owner.
 */
export const BREAK_GLASS_KEY = 'break-glass-until'
/** Maximum time in ms from now to the value of `BREAK_GLASS_KEY`. A later value is ignored. */
export const MAX_BREAK_GLASS_MS = 24 * 60 * 60_000
