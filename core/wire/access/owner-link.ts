/** Lifetime in ms of the link with which the first owner registers. */
export const OWNER_LINK_LIFE_MS = 60 * 60 * 1_000

/** Data of the Secret with the owner link of a cluster. */
export type OwnerLinkData = {
  readonly token: string
  readonly link: string
  /** Time at which the link expires, RFC 3339. */
  readonly 'expires-at': string
}

/** Returns the data of the Secret. `baseUrl` is the public URL of the dashboard, without a trailing slash. */
export function ownerLinkData(token: string, baseUrl: string, expiresAt: string): OwnerLinkData {
  return { token, link: ownerLinkOf(baseUrl, token), 'expires-at': expiresAt }
}

/** Returns the URL of the page on which the first owner registers. */
export function ownerLinkOf(baseUrl: string, token: string): string {
  return `${baseUrl}/setup?token=${token}`
}
