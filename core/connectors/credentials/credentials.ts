import { ChaperoneError } from '../../errors.ts'
import { formatOf } from '../../request/body/body.ts'
import { boundaryOf, readPartNames } from '../../request/body/multipart.ts'
import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { judgePairNames, judgePartNames } from '../../request/method-override.ts'
import { readPair } from '../../request/target.ts'
import { LIMITS } from '../../wire/schema/limits.ts'
import type { AuthScheme, Connector, OutboundEdit } from '../connector.ts'
import { removeMembers } from '../fields/json-members.ts'
import { CREDENTIAL_HEADERS } from './credential-headers.ts'
import { fieldOf } from './field-name.ts'

/** Query parameters that are removed as credentials for every API. Connector types list others, such as `key`. */
const QUERY: ReadonlySet<string> = new Set([
  'access_token',
  'accesstoken',
  'oauth_token',
  'auth_token',
  'authorization',
  'api_key',
  'apikey',
  'api-key',
  'x-api-key',
  'private_token',
  'job_token',
  'client_secret',
])

/** Matches subprotocols with a key: some APIs accept keys there, because browsers cannot set WebSocket headers. */
const KEY_SUBPROTOCOL = /^(openai-insecure-api-key|openai-insecure-session-token|bearer|authorization)[.:]/i

/** Removes the agent's own credentials from headers and query; every other byte of both stays unchanged. */
export function stripCredentials(
  edit: OutboundEdit,
  connector: Connector,
  keepQuery: readonly string[] = [],
): void {
  const plan = plans.get(connector) ?? newPlan(connector)
  edit.rawHeaders = keepHeaders(edit.rawHeaders, plan)
  edit.rawTarget = stripQuery(edit.rawTarget, without(plan.query, keepQuery))
}

/** Returns the target without query credentials. `losesOther`: an undocumented parameter was removed. */
export function stripTarget(
  rawTarget: string,
  connector: Connector,
  keepQuery: readonly string[],
): { readonly rawTarget: string; readonly losesOther: boolean } {
  if (!rawTarget.includes('?')) return { rawTarget, losesOther: false }
  const plan = plans.get(connector) ?? newPlan(connector)
  const stripped = stripQuery(rawTarget, without(plan.query, keepQuery))
  const documented = new Set(connector.carriers.documentedQuery)
  const isSame = stripped === rawTarget
  return {
    rawTarget: stripped,
    losesOther: !isSame && stripped !== stripQuery(rawTarget, without(documented, keepQuery)),
  }
}

function without(names: ReadonlySet<string>, kept: readonly string[]): ReadonlySet<string> {
  if (kept.length === 0) return names
  const lower = kept.map((name) => name.toLowerCase())
  return new Set([...names].filter((name) => !lower.includes(name)))
}

/**
 * Headers and query parameters that carry credentials. `known`: cache, by header name as sent, of whether and how the
 * header carries credentials.
 */
type Plan = {
  readonly headers: ReadonlySet<string>
  readonly query: ReadonlySet<string>
  readonly known: Map<string, HeaderRole>
}
type HeaderRole = 'carrier' | 'subprotocols' | 'other'

const plans = new WeakMap<Connector, Plan>()
/** Maximum number of cached header names. Clients may send any number of different names. */
const MAX_KNOWN = 1_024

function newPlan(connector: Connector): Plan {
  const { headers, query } = connector.carriers
  const plan: Plan = {
    headers: new Set([...CREDENTIAL_HEADERS, ...headers]),
    query: new Set([...QUERY, ...query]),
    known: new Map(),
  }
  plans.set(connector, plan)
  return plan
}

function roleOf(name: string, plan: Plan): HeaderRole {
  const found = plan.known.get(name)
  if (found !== undefined) return found
  // Servers that pass headers as environment variables (CGI) do not distinguish `_` and `-`.
  const lower = name.toLowerCase().replaceAll('_', '-')
  const other = lower === 'sec-websocket-protocol' ? 'subprotocols' : 'other'
  const role = plan.headers.has(lower) ? 'carrier' : other
  if (plan.known.size >= MAX_KNOWN) plan.known.clear()
  plan.known.set(name, role)
  return role
}

function keepHeaders(rawHeaders: readonly string[], plan: Plan): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const role = roleOf(name, plan)
    if (role === 'carrier') continue
    const value = rawHeaders[i + 1] ?? ''
    const clean = role === 'subprotocols' ? withoutKeys(value) : value
    if (clean !== '' || value === '') kept.push(name, clean)
  }
  return kept
}

function withoutKeys(subprotocols: string): string {
  const items = subprotocols.split(',')
  const clean = items.filter((item) => !KEY_SUBPROTOCOL.test(item.trim()))
  return clean.length === items.length ? subprotocols : clean.join(',').trim()
}

function stripQuery(rawTarget: string, names: ReadonlySet<string>): string {
  const mark = rawTarget.indexOf('?')
  if (mark === -1) return rawTarget
  const query = rawTarget.slice(mark + 1)
  const kept = stripPairs(query, names)
  if (kept === query) return rawTarget
  return kept === '' ? rawTarget.slice(0, mark) : `${rawTarget.slice(0, mark)}?${kept}`
}

/** Removes credentials from a query, also from `a=1;token=x` (two parameters on older servers) and `token[]=x`. */
function stripPairs(text: string, names: ReadonlySet<string>): string {
  const parts = text.split('&')
  const kept = parts.flatMap((part) => {
    if (!part.includes(';')) return isCarrier(part, names) ? [] : [part]
    const pieces = part.split(';').filter((piece) => !isCarrier(piece, names))
    return pieces.length === 0 ? [] : [pieces.join(';')]
  })
  return kept.join('&')
}

function isCarrier(part: string, names: ReadonlySet<string>): boolean {
  return names.has(fieldOf(nameOf(part)))
}

/** Returns the decoded name of a query pair; empty for an invalid pair, which other checks refuse. */
function nameOf(part: string): string {
  const pair = readPair(part)
  return isRefusal(pair) ? '' : pair[0]
}

export type StrippedBody = { readonly bytes: Uint8Array; readonly removed: boolean }

/** Treatment of a body that may carry the agent's credentials: forward unread, read up to `limit` bytes, or refuse. */
export type BodyStripping =
  | { readonly kind: 'stream' }
  | { readonly kind: 'read'; readonly limit: number }
  | Refusal

/**
 * Selects the treatment of a body. For an API that accepts its key in the body, the gateway reads JSON, forms and
 * multipart forms. The gateway refuses a body without a media type or of a text type, because the API may read it as a
 * form. The gateway also refuses JSON and forms with a Content-Encoding or not in UTF-8. Other bodies and file uploads
 * (`contentPaths`) are forwarded unread.
 */
export function bodyStripping(request: CanonicalRequest, { carriers }: Connector): BodyStripping {
  if (carriers.bodyFields.length === 0) return STREAM
  if (carriers.contentPaths?.some((prefix) => request.rawPath.startsWith(prefix)) === true) return STREAM
  const { mediaType, encoding, charset } = request.body
  const format = formatOf(mediaType)
  const isForm = format !== 'opaque' || isMultipart(mediaType)
  if (!isForm && mediaType !== undefined && !mediaType.startsWith('text/')) return STREAM
  if (!isForm) return unreadable('send the body as JSON or a form, with the matching Content-Type')
  if (encoding !== undefined) return unreadable('send the body without Content-Encoding')
  if (charset !== undefined && !UTF8.has(charset)) return unreadable('send the body in UTF-8')
  return { kind: 'read', limit: format === 'opaque' ? LIMITS.heldBodyBytes : LIMITS.decidingBodyBytes }
}

const STREAM: BodyStripping = { kind: 'stream' }
const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

function isMultipart(mediaType: string | undefined): boolean {
  return mediaType?.startsWith('multipart/') === true
}

function unreadable(change: string): Refusal {
  return refusal('unsupported_body', `the gateway must check the body for credentials; ${change}`)
}

/**
 * Removes form fields or top-level JSON members that carry a credential; every other byte stays unchanged. `fields`
 * are lower case. A multipart form with such a part is refused. Bodies of other media types are returned unchanged.
 */
export function stripBodyFields(
  bytes: Uint8Array,
  contentType: string | undefined,
  fields: readonly string[],
): StrippedBody | Refusal {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase()
  const names = new Set(fields)
  if (names.size === 0 || bytes.length === 0) return { bytes, removed: false }
  if (isMultipart(mediaType)) return judgeParts(bytes, contentType ?? '', names)
  const format = formatOf(mediaType)
  if (format === 'opaque') return { bytes, removed: false }
  if (format === 'json') return removeMembers(bytes, names)
  return stripForm(bytes, names)
}

function judgeParts(
  bytes: Uint8Array,
  contentType: string,
  names: ReadonlySet<string>,
): StrippedBody | Refusal {
  const boundary = boundaryOf(contentType)
  if (isRefusal(boundary)) return boundary
  const parts = readPartNames(bytes, boundary)
  if (isRefusal(parts)) return parts
  const overriding = judgePartNames(parts)
  if (overriding !== null) return overriding
  const own = parts.find((name) => names.has(fieldOf(name)))
  if (own === undefined) return { bytes, removed: false }
  return refusal('unsupported_body', `the part "${own}" contains a credential; remove the part`)
}

function stripForm(bytes: Uint8Array, names: ReadonlySet<string>): StrippedBody | Refusal {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return refusal('malformed_request', 'the form body is not valid UTF-8')
  }
  const overriding = judgePairNames(text, 'form field')
  if (overriding !== null) return overriding
  const kept = stripPairs(text, names)
  return kept === text ? { bytes, removed: false } : { bytes: new TextEncoder().encode(kept), removed: true }
}

/**
 * Adds the connector's credential, which replaces a header of the same name. Throws `upstream_failed` for a credential
 * that is invalid in a header.
 */
export function injectAuth(edit: OutboundEdit, secret: string, scheme: AuthScheme): void {
  if (scheme.type === 'none') return
  edit.rawHeaders = withoutReplaced(edit.rawHeaders, scheme)
  edit.rawHeaders.push(headerOf(scheme), credentialValue(checkSecret(secret), scheme))
}

/** Returns the agent's header fields without the field that the injected credential replaces. */
export function withoutReplaced(rawHeaders: string[], scheme: AuthScheme): string[] {
  return withoutHeader(rawHeaders, headerOf(scheme).toLowerCase().replaceAll('_', '-'))
}

function headerOf(scheme: AuthScheme): string {
  return scheme.type === 'header' ? scheme.header : 'Authorization'
}

function withoutHeader(rawHeaders: string[], lower: string): string[] {
  const isNamed = (text: string, at: number): boolean =>
    at % 2 === 0 && text.length === lower.length && text.toLowerCase().replaceAll('_', '-') === lower
  if (!rawHeaders.some(isNamed)) return rawHeaders
  return rawHeaders.filter((_text, at) => !isNamed(rawHeaders[at - (at % 2)] ?? '', 0))
}

function credentialValue(secret: string, scheme: Exclude<AuthScheme, { type: 'none' }>): string {
  switch (scheme.type) {
    case 'bearer':
      return `Bearer ${secret}`
    case 'token':
      return `token ${secret}`
    case 'basic':
      return `Basic ${btoa(basicPair(secret, scheme.username))}`
    case 'header':
      return secret
  }
}

/**
 * Returns the trimmed credential (files often end with a newline). Throws `upstream_failed` for an empty credential,
 * and for characters outside of printable ASCII: a line break could inject a header.
 */
function checkSecret(secret: string): string {
  const trimmed = secret.trim()
  if (trimmed === '' || /[^\u0020-\u007e]/.test(trimmed)) {
    const detail =
      'the stored credential is empty or contains characters that are invalid in a header; store a valid credential'
    throw new ChaperoneError('upstream_failed', { detail })
  }
  return trimmed
}

/**
 * Returns `user:password`. Without a configured user name, the credential is the whole pair, or a key that is sent as
 * the user name.
 */
function basicPair(secret: string, username: string | undefined): string {
  if (username !== undefined) return `${username}:${secret}`
  return secret.includes(':') ? secret : `${secret}:`
}
