import type { HEADERS } from '../../../core/wire/schema/limits.ts'

export const PAGE_SECRET_HEADER: (typeof HEADERS)['pageSecret'] = 'X-Service-Page-Secret'

/**
 * Header value of a browser without a page secret. The reply to a sign-in with this header value contains a page
 * secret, even for a browser that does not send `Sec-Fetch-Site`.
 */
const NONE = 'none'
const KEY = 'chaperone.page-secret'
let kept: string | null = null

/**
 * Returns the page secret of this session, which API requests send in addition to the session cookie. The secret is
 * in `localStorage`. Pages of servers on other ports cannot read `localStorage`, while such servers receive the
 * cookie. All tabs share `localStorage`, unlike `sessionStorage`, so that an approver can answer a card in a new tab.
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
    // The browser can deny storage. The secret is then available only until this page is closed.
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
