import { normaliseHost } from '../../request/authority.ts'

/** Where a provider would connect to. */
export type ReachedHost = { readonly host: string; readonly port: number }

/**
 * Scheme, host and port as every URL parser reads them: no user information, no backslash, no blank or control character,
 * no percent-encoding in the host.
 */
const PLAIN_URL =
  /^(https?|wss?):\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][!-~]*)?$/i
const SECURE: ReadonlySet<string> = new Set(['https', 'wss'])

/** The host of a URL; null where parsers could disagree about it, or where it has none. */
export function reachedHost(url: string): ReachedHost | null {
  const [, scheme = '', name = '', port] = PLAIN_URL.exec(url) ?? []
  if (scheme === '' || url.includes('\\')) return null
  const host = normaliseHost(name)
  if (host === null) return null
  const usual = SECURE.has(scheme.toLowerCase()) ? 443 : 80
  return { host, port: port === undefined ? usual : Number(port) }
}

/** A host as it stands in a list of hosts: without a port, or with one. */
export function listedHost(text: string): ReachedHost | null {
  return reachedHost(`https://${text}`)
}

/** A file in the request itself. */
export function isInline(url: string): boolean {
  return /^data:[a-z]/i.test(url)
}
