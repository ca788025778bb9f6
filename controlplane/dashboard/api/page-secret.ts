import type { HEADERS } from '../../../core/wire/limits.ts'

export const PAGE_SECRET_HEADER: (typeof HEADERS)['pageSecret'] = 'X-Service-Page-Secret'

/** Sent without a secret: a sign-in with the header is answered with one, also where browsers send no Sec-Fetch-Site. */
const NONE = 'none'
const KEY = 'chaperone.page-secret'
let kept: string | null = null

/**
 * Returns the secret of this session. localStorage belongs to the origin with its port, so that servers on other ports do
 * not read it (unlike the cookie), and all tabs share it (unlike sessionStorage): a card opened in a new tab can be answered.
 */
export function pageSecret(): string {
  return stored() ?? kept ?? NONE
}

/** Keeps the secret of a new session; null when the session has ended or needs none. */
export function keepPageSecret(secret: string | null): void {
  kept = secret
  try {
    if (secret === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, secret)
  } catch (error) {
    // Browsers can deny storage: the secret then lasts as long as this page.
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
