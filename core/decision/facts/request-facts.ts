import { isCredentialHeader } from '../../connectors/credentials/credential-headers.ts'
import { fieldOf } from '../../connectors/credentials/field-name.ts'
import { isRecord } from '../../connectors/fields/fields.ts'
import type { BoundConnector } from '../../connectors/registry.ts'
import { parseBody } from '../../request/body/body.ts'
import { type CanonicalRequest, isRefusal, type RawHeaders } from '../../request/canonical.ts'
import { queryFacts } from '../../request/headers/repeated-names.ts'
import { fold } from '../../request/json/strict-json.ts'
import type { RequestFacts } from '../decision.ts'
import { lazyObjects } from './lazy-object.ts'
import { pathFacts } from './request-path.ts'
import { UNKNOWN } from './unknown-value.ts'

/** Body that the gateway has: bytes, `unread` if the gateway did not read the body, or null if there is none. */
export type BodyFact = Uint8Array | 'unread' | null

/** Bounds beyond which `request.body` is unknown. `nodes` counts the values of the JSON, or the fields of a form. */
export const BODY_FACT_BOUNDS = { bytes: 256 * 1024, nodes: 10_000 } as const

/** Returns the facts of a proxied request. Each fact is computed when a condition first reads it. */
export function requestFacts(
  request: CanonicalRequest,
  bound: BoundConnector | null = null,
  body: BodyFact = null,
): RequestFacts {
  const facts = body === null ? withoutBody({ request, bound }) : withBody({ request, bound, body })
  return facts as RequestFacts
}

/**
 * Returns the facts with another query. The facts are inherited, because a spread would copy none of the lazy
 * properties.
 */
export function withQuery(facts: RequestFacts, query: RequestFacts['query']): RequestFacts {
  return Object.create(facts, { query: { value: query, enumerable: true } })
}

type Given = { readonly request: CanonicalRequest; readonly bound: BoundConnector | null }
type GivenBody = Given & { readonly body: Uint8Array | 'unread' }

const LINE_AND_HEADERS = {
  method: ({ request }) => request.method,
  host: ({ request }) => request.host,
  path: ({ request }) => pathFacts(request).path,
  segments: ({ request }) => pathFacts(request).segments,
  raw_path: ({ request }) => request.rawPath,
  query: ({ request }) => queryFacts(request.query),
  headers: ({ request, bound }) => headerFacts(request.rawHeaders, bound),
} as const satisfies Record<string, (given: Given) => unknown>

const withoutBody = lazyObjects<Given>(LINE_AND_HEADERS)
const withBody = lazyObjects<GivenBody>({
  ...LINE_AND_HEADERS,
  body: ({ request, bound, body }) => withoutCredentials(bodyFact(body, request), bound),
})

/** Header fields that conditions cannot read: hop-by-hop fields, and fields that the gateway rewrites. */
const NOT_END_TO_END: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'host', 'expect', 'http2-settings', 'content-length'],
])

/**
 * Returns the end-to-end fields by lower-case name, without credentials. The value of a repeated field is a list.
 * CGI-like servers do not distinguish `_` and `-`, so a field with `_` in its name is listed under both spellings.
 */
function headerFacts(raw: RawHeaders, bound: BoundConnector | null): Record<string, string | string[]> {
  const carriers = carriersOf(bound)
  const values = new Map<string, string[]>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const hyphenated = name.replaceAll('_', '-')
    if (NOT_END_TO_END.has(name) || isCredentialHeader(name) || carriers.has(hyphenated)) continue
    for (const each of new Set([name, hyphenated]))
      values.set(each, [...(values.get(each) ?? []), (raw[at + 1] ?? '').trim()])
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? '') : all]))
}

/**
 * Returns the names of the headers in which the connector's clients send credentials, with `-` for `_`. Includes
 * `sec-websocket-protocol`, in which browsers and SDKs send keys.
 */
function carriersOf(bound: BoundConnector | null): ReadonlySet<string> {
  const own = bound === null ? [] : [...bound.connector.carriers.headers, bound.entry.auth.header ?? '']
  return new Set(['sec-websocket-protocol', ...own.map((name) => name.toLowerCase().replaceAll('_', '-'))])
}

function bodyFact(body: Uint8Array | 'unread', request: CanonicalRequest): unknown {
  if (body === 'unread' || body.length > BODY_FACT_BOUNDS.bytes) return UNKNOWN
  const view = parseBody(body, request.body, [])
  if (isRefusal(view)) return UNKNOWN
  if (view.kind === 'json') return isUnambiguous(view.value) ? view.value : UNKNOWN
  return view.kind === 'form' && view.fields.length <= BODY_FACT_BOUNDS.nodes
    ? queryFacts(view.fields)
    : UNKNOWN
}

/** Removes the JSON members and form fields that carry credentials. */
function withoutCredentials(value: unknown, bound: BoundConnector | null): unknown {
  const fields = bound?.connector.carriers.bodyFields ?? []
  if (fields.length === 0 || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(fieldOf(name))))
}

/**
 * Reports whether all servers read the value alike: the value is within the bounds, and no object has two members that
 * servers may confuse (`amount`, `Amount`).
 */
function isUnambiguous(root: unknown): boolean {
  const open: unknown[] = [root]
  let nodes = 1
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const children: unknown[] = Object.values(value)
    nodes += children.length
    if (nodes > BODY_FACT_BOUNDS.nodes || hasTwins(value)) return false
    for (const child of children) open.push(child)
  }
  return true
}

function hasTwins(value: object): boolean {
  if (Array.isArray(value)) return false
  const names = Object.keys(value)
  return new Set(names.map(fold)).size < names.length
}
