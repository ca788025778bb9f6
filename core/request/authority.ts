import { type RawRequest, type Refusal, refusal } from './canonical.ts'

/** Host and port in one part of a request. The port is absent if that part never has one (SNI). */
export type Authority = { readonly host: string; readonly port?: number }
type Named = Required<Authority>

const DEFAULT_PORTS = { http: 80, https: 443 } as const

/**
 * Parses `host`, `host:port` or `[v6]:port`. Returns the host in lower case without a trailing dot, and the default
 * port if there is none. Refuses user information, empty labels, percent escapes and invalid ports.
 */
export function parseAuthority(text: string, scheme: 'http' | 'https'): Named | Refusal {
  const found = known[scheme].get(text)
  if (found !== undefined) return found
  const read = readAuthority(text, scheme)
  if (!('kind' in read)) remember(known[scheme], text, read)
  return read
}

/** Cache of the parsed authorities of recent requests. The cache has a bound, because clients may invent names. */
const known = { http: new Map<string, Named>(), https: new Map<string, Named>() } as const
const MAX_KNOWN = 1_024

function remember(names: Map<string, Named>, text: string, named: Named): void {
  if (names.size >= MAX_KNOWN) names.clear()
  names.set(text, named)
}

function readAuthority(text: string, scheme: 'http' | 'https'): Named | Refusal {
  if (text.includes('@')) {
    return refusal('ambiguous_request', 'the host carries user information; remove everything before the @')
  }
  const end = text.startsWith('[') ? text.indexOf(']') + 1 : hostEnd(text)
  const host = normaliseHost(text.slice(0, end))
  if (host === null) return badHost(text)
  const port = readPort(text.slice(end), scheme)
  return port === null ? badHost(text) : { host, port }
}

/** Normalises a host for comparisons; null if it is invalid. An IPv6 literal loses its brackets. */
export function normaliseHost(text: string): string | null {
  if (text.startsWith('['))
    return /^\[[0-9a-f:.]{2,45}\]$/i.test(text) ? text.slice(1, -1).toLowerCase() : null
  const bare = text.endsWith('.') ? text.slice(0, -1) : text
  if (bare.length === 0 || bare.length > 253) return null
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(bare) ? bare.toLowerCase() : null
}

/**
 * Checks that CONNECT authority, SNI, Host, `:authority` and an absolute-form target contain the same host. Returns a
 * refusal (421) if they differ. `first` and `second` are the hosts in the request target and the Host field, in any
 * order; undefined if absent.
 */
export function agreeOnHost(
  raw: RawRequest,
  scheme: 'http' | 'https',
  first: string | undefined,
  second: string | undefined,
): Named | Refusal {
  const { connectAuthority, authority, sni } = raw.sources
  let agreed: Agreed = null
  agreed = agree(agreed, connectAuthority, scheme)
  agreed = agree(agreed, authority, scheme)
  agreed = agree(agreed, first, scheme)
  agreed = agree(agreed, second, scheme)
  if (agreed === null) {
    return refusal('malformed_request', 'the request names no host; send a Host header')
  }
  return 'kind' in agreed ? agreed : checkSni(sni, agreed)
}

type Agreed = Named | Refusal | null

function agree(agreed: Agreed, text: string | undefined, scheme: 'http' | 'https'): Agreed {
  if (text === undefined || (agreed !== null && 'kind' in agreed)) return agreed
  const authority = parseAuthority(text, scheme)
  if ('kind' in authority || agreed === null) return authority
  return isSame(agreed, authority) ? authority : misdirected(agreed, authority)
}

function checkSni(sni: string | undefined, agreed: Named): Named | Refusal {
  if (sni === undefined || sni === '') return agreed
  const host = normaliseHost(sni)
  if (host === null) return badHost(sni)
  return host === agreed.host ? agreed : misdirected({ host }, agreed)
}

function isSame(a: Authority, b: Authority): boolean {
  return a.host === b.host && a.port === b.port
}

function hostEnd(text: string): number {
  const colon = text.indexOf(':')
  return colon === -1 ? text.length : colon
}

function readPort(rest: string, scheme: 'http' | 'https'): number | null {
  if (rest === '') return DEFAULT_PORTS[scheme]
  if (!/^:[1-9][0-9]{0,4}$/.test(rest)) return null
  const port = Number(rest.slice(1))
  return port <= 65_535 ? port : null
}

function badHost(text: string): Refusal {
  return refusal('malformed_request', `"${text.slice(0, 100)}" is not a host name with an optional port`)
}

function misdirected(a: Authority, b: Authority): Refusal {
  const detail = `the connection is for ${show(a)} but the request is for ${show(b)}; open a separate connection for each host`
  return refusal('misdirected', detail)
}

function show(authority: Authority): string {
  return authority.port === undefined ? authority.host : `${authority.host}:${authority.port}`
}
