/** Entry of the Secret with the owner's token: ISO time until which the token works like an owner. */
export const BREAK_GLASS_KEY = 'break-glass-until'
/** The longest time that the entry may open the token for; a later time opens nothing. */
export const MAX_BREAK_GLASS_MS = 24 * 60 * 60_000
