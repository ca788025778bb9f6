/** How long the link that makes the first owner is valid. */
export const OWNER_LINK_LIFE_MS = 60 * 60 * 1_000

/** The data of the Secret that holds the link of a cluster. */
export type OwnerLinkData = {
  readonly token: string
  readonly link: string
  /** RFC 3339. */
  readonly 'expires-at': string
}

/** `baseUrl`: where people open the dashboard, without a slash at the end. */
export function ownerLinkData(token: string, baseUrl: string, expiresAt: string): OwnerLinkData {
  return { token, link: ownerLinkOf(baseUrl, token), 'expires-at': expiresAt }
}

/** The address of the page on which the first owner registers. */
export function ownerLinkOf(baseUrl: string, token: string): string {
  return `${baseUrl}/setup?token=${token}`
}
