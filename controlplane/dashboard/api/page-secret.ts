import type { HEADERS } from '../../../core/wire/limits.ts'

export const PAGE_SECRET_HEADER: (typeof HEADERS)['pageSecret'] = 'X-Service-Page-Secret'

/**
 * Header value of a browser without a page secret. A sign-in with this header value returns a page secret, also to
 * browsers that send no `Sec-Fetch-Site`.
 */
const NONE = 'none'
const KEY = 'chaperone.page-secret'
let kept: string | null = null

/**
 * Returns the page secret of this session, which API requests send in addition to the session cookie. `localStorage` is
 * bound to the origin with its port, so servers on other ports cannot read the secret (unlike the cookie), and all tabs
 * share it (unlike `sessionStorage`): an approver can answer a card in a new tab.
 */
export function pageSecret(): string {
  return stored() ?? kept ?? NONE
}

/** Reports whether this browser has the page secret of a session. */
export function hasPageSecret(): boolean {
  return pageSecret() !== NONE
}

/**
 * Stores the page secret of a new session. Null removes the secret, because the session has ended or needs no secret.
 */
export function keepPageSecret(secret: string | null): void {
  kept = secret
  try {
    if (secret === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, secret)
  } catch (error) {
    // Browsers can deny storage. The secret then lasts until this page is closed.
    if (!(error instanceof DOMException)) throw error
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch (error) {
    if (error instanceof DOMException) return null
    throw error
  }
}
