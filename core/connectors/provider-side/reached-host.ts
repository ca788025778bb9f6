import { normaliseHost } from '../../request/authority.ts'

/** A host that a provider connects to. */
export type ReachedHost = { readonly host: string; readonly port: number }

/**
 * Matches URLs whose scheme, host and port all URL parsers read alike: no user information, no backslash, no blank or
 * control character, no percent-encoding in the host.
 */
const PLAIN_URL =
  /^(https?|wss?):\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][!-~]*)?$/i

/** Returns the host and port of a URL; null if the URL has no host or if parsers could disagree about the host. */
export function reachedHost(url: string): ReachedHost | null {
  const [, scheme = '', name = '', port] = PLAIN_URL.exec(url) ?? []
  if (scheme === '' || url.includes('\\')) return null
  const host = normaliseHost(name)
  if (host === null) return null
  return { host, port: port === undefined ? usualPort(url) : Number(port) }
}

/** Parses an entry of a host list, with or without a port. */
export function listedHost(text: string): ReachedHost | null {
  return reachedHost(`https://${text}`)
}

/**
 * Matches SIP URIs whose host and port all servers read alike. Other parameters (`maddr`) and headers (`Route`) are not
 * accepted, because they may send the call to another host.
 */
const PLAIN_SIP =
  /^(sips?):(?:[\w.+!~*'()&=$,-]+@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:;(?:transport=(?:udp|tcp|tls)|user=phone))*$/i

/** Returns the host and port of a SIP URI; null if it has none, or if servers could disagree about the host. */
export function calledHost(uri: string): ReachedHost | null {
  const [, scheme = '', name = '', port] = PLAIN_SIP.exec(uri) ?? []
  const host = scheme === '' ? null : normaliseHost(name)
  return host === null ? null : { host, port: port === undefined ? usualPort(uri) : Number(port) }
}

/** Reports whether the URI is a phone number (`tel:`) without parameters. It names no host. */
export function isPhoneNumber(uri: string): boolean {
  return /^tel:\+?[0-9().-]{1,32}$/i.test(uri)
}

/** Returns the default port of the scheme of a URL; 443 for a host name without a scheme. */
export function usualPort(url: string): number {
  const scheme = url.slice(0, Math.max(0, url.indexOf(':'))).toLowerCase()
  return USUAL_PORTS.get(scheme) ?? 443
}

const USUAL_PORTS: ReadonlyMap<string, number> = new Map([
  ['http', 80],
  ['ws', 80],
  ['sip', 5060],
  ['sips', 5061],
])

/** Reports whether the URL contains the file itself (`data:`), so that the provider fetches nothing. */
export function isInline(url: string): boolean {
  return /^data:[a-z]/i.test(url)
}
