import { normaliseHost } from '../../request/authority.ts'

/** A host that a provider connects to. */
export type ReachedHost = { readonly host: string; readonly port: number }

/**
 * Matches URLs whose scheme, host and port all URL parsers read alike: no user information, no backslash, no blank or
 * control character, no percent-encoding in the host.
 */
const PLAIN_URL =
  /^(https?|wss?):\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][!-~]*)?$/i
const SECURE: ReadonlySet<string> = new Set(['https', 'wss'])

/** Returns the host and port of a URL; null if the URL has no host or if parsers could disagree about the host. */
export function reachedHost(url: string): ReachedHost | null {
  const [, scheme = '', name = '', port] = PLAIN_URL.exec(url) ?? []
  if (scheme === '' || url.includes('\\')) return null
  const host = normaliseHost(name)
  if (host === null) return null
  const usual = SECURE.has(scheme.toLowerCase()) ? 443 : 80
  return { host, port: port === undefined ? usual : Number(port) }
}

/** Parses an entry of a host list, with or without a port. */
export function listedHost(text: string): ReachedHost | null {
  return reachedHost(`https://${text}`)
}

/** Reports whether the URL contains the file itself (`data:`), so that the provider fetches nothing. */
export function isInline(url: string): boolean {
  return /^data:[a-z]/i.test(url)
}
