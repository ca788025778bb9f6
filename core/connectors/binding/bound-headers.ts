import type { RawHeaders } from '../../request/canonical.ts'
import { ACCOUNT_HEADERS } from '../../request/headers/header-names.ts'
import { isSecretHeader } from '../credentials/secret-names.ts'

/** Header fields that an approval ignores, with the reason. `names` are complete names in lower case, not prefixes. */
export type HeaderGroup = { readonly reason: string; readonly names: readonly string[] }

/**
 * Header fields that may differ between the approved request and the forwarded one. An approval is bound to all other
 * fields.
 */
export const IGNORED_HEADERS: readonly HeaderGroup[] = [
  {
    reason: 'hop-by-hop headers, and headers that the gateway sets',
    names: [
      ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
      ...['trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'host', 'expect', 'content-length'],
      'sec-websocket-key',
    ],
  },
  {
    reason: 'tracing',
    names: [
      ...['traceparent', 'tracestate', 'b3', 'x-b3-traceid', 'x-b3-spanid', 'x-b3-parentspanid'],
      ...['x-b3-sampled', 'x-b3-flags', 'x-request-id', 'x-correlation-id', 'x-client-request-id'],
      ...['x-datadog-trace-id', 'x-datadog-parent-id', 'x-datadog-sampling-priority', 'x-datadog-origin'],
      ...['x-datadog-tags', 'sentry-trace', 'x-amzn-trace-id', 'x-cloud-trace-context', 'uber-trace-id'],
      ...['elastic-apm-traceparent', 'newrelic', 'grpc-trace-bin'],
    ],
  },
  {
    reason: 'client telemetry',
    names: [
      ...['user-agent', 'x-stainless-lang', 'x-stainless-package-version', 'x-stainless-os'],
      ...['x-stainless-arch', 'x-stainless-runtime', 'x-stainless-runtime-version', 'x-stainless-async'],
      ...['x-stainless-timeout', 'x-stainless-read-timeout', 'x-stainless-helper'],
      ...['x-stainless-helper-method', 'x-stainless-poll-helper', 'x-stainless-custom-poll-interval'],
      ...['x-goog-api-client', 'grpc-timeout'],
    ],
  },
  { reason: 'the time of the request', names: ['date'] },
  {
    reason: 'retry counters',
    names: [
      ...['x-stainless-retry-count', 'amz-sdk-invocation-id', 'amz-sdk-request'],
      'grpc-previous-rpc-attempts',
    ],
  },
]

/** Further header fields that may differ (see `IGNORED_HEADERS`), by connector type. */
export const IGNORED_BY_TYPE: Readonly<Record<string, readonly HeaderGroup[]>> = {
  payments: [
    { reason: 'client telemetry', names: ['x-stripe-client-user-agent', 'x-stripe-client-telemetry'] },
  ],
  mcp: [{ reason: 'the session of the client', names: ['mcp-session-id'] }],
}

/**
 * Header fields of which one part may differ. An approval is bound to the rest of the value, and the card shows the
 * rest.
 */
export const PARTLY_IGNORED: readonly HeaderGroup[] = [
  {
    reason: 'members of the list whose key begins with `sentry-`, if the value has no quotes',
    names: ['baggage'],
  },
  {
    reason:
      'a key that an SDK generated, if the header occurs once: `stripe-<language>-retry-<random UUID>`, `stainless-<language>-retry-<random UUID>`',
    names: ['idempotency-key'],
  },
  {
    reason: 'the boundary of `multipart/form-data`, because the approval covers each part separately',
    names: ['content-type'],
  },
]

/**
 * Header fields that an approval is bound to and that the approval card omits. Their values select the response format
 * or follow from the body.
 */
export const UNINTERESTING_HEADERS: readonly string[] = [
  ...[
    'accept',
    'accept-charset',
    'accept-encoding',
    'accept-language',
    'cache-control',
    'pragma',
    'priority',
  ],
  ...['dnt', 'sec-gpc', 'sec-ch-ua', 'sec-ch-ua-mobile', 'sec-ch-ua-platform', 'sec-fetch-dest'],
  ...['sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user', 'upgrade-insecure-requests'],
  ...['sec-websocket-version', 'sec-websocket-extensions'],
]

/**
 * Header fields that the approval card omits, by connector type. The fields repeat parts of the body, and the gateway
 * refuses a request whose fields and body differ.
 */
export const UNINTERESTING_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  mcp: ['mcp-method', 'mcp-name'],
}

/** Matches Content-Type values that the approval card omits, because they add nothing to the shown parameters. */
const PLAIN_TYPE =
  /^(?:application\/json|application\/x-www-form-urlencoded|multipart\/form-data)(?: *; *charset="?utf-8"?)?$/i

/**
 * Matches idempotency keys that SDKs generate: a prefix and a random UUID (version 4), which cannot select a resource.
 */
const AUTOMATIC_KEY =
  /^(?:stripe|stainless)-(?:node|python|java|kotlin|go|ruby|php|dotnet|csharp)-retry-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export type BoundHeader = { readonly name: string; readonly value: string }

/**
 * Returns the header fields that an approval is bound to, in canonical form: names in lower case and sorted, values
 * without surrounding blanks, repeated fields in order. Equal lists mean that the upstream reads equal fields, except
 * for the fields of `IGNORED_HEADERS`, `IGNORED_BY_TYPE` and `PARTLY_IGNORED`.
 */
export function boundHeaders(connectorType: string, raw: RawHeaders): readonly BoundHeader[] {
  const ignored = ignoredNames(connectorType)
  const bound: BoundHeader[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    if (!ignored.has(name)) bound.push({ name, value: trimBlanks(raw[at + 1] ?? '') })
  }
  return bound
    .flatMap((field) => boundPart(field, bound))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** Returns the header fields that may change the effect of a request, such as those that choose the account. */
export function effectiveHeaders(
  connectorType: string,
  bound: readonly BoundHeader[],
): readonly BoundHeader[] {
  return bound.filter(({ name, value }) => !isUninteresting(connectorType, name, value))
}

/** Returns the header fields that the approval card shows. The length replaces a value that may be a credential. */
export function shownHeaders(connectorType: string, bound: readonly BoundHeader[]): readonly BoundHeader[] {
  return effectiveHeaders(connectorType, bound).map(({ name, value }) =>
    isSecretHeader(name) ? { name, value: `(not shown: ${value.length} characters)` } : { name, value },
  )
}

const BASE: ReadonlySet<string> = namesOf(IGNORED_HEADERS)
const BY_TYPE: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(IGNORED_BY_TYPE).map(([type, more]) => [type, namesOf([...IGNORED_HEADERS, ...more])]),
)
const UNINTERESTING: ReadonlySet<string> = new Set(UNINTERESTING_HEADERS)

function ignoredNames(connectorType: string): ReadonlySet<string> {
  return BY_TYPE.get(connectorType) ?? BASE
}

function namesOf(groups: readonly HeaderGroup[]): ReadonlySet<string> {
  return new Set(groups.flatMap(({ names }) => names))
}

function isUninteresting(connectorType: string, name: string, value: string): boolean {
  if (ACCOUNT_HEADERS.has(name)) return false
  if (name === 'content-type') return PLAIN_TYPE.test(value)
  return UNINTERESTING.has(name) || UNINTERESTING_BY_TYPE[connectorType]?.includes(name) === true
}

/**
 * Returns the part of a header field that an approval is bound to; empty for a generated idempotency key. An approval
 * is bound to all values of a repeated idempotency key, because servers join repeated fields.
 */
function boundPart(field: BoundHeader, all: readonly BoundHeader[]): readonly BoundHeader[] {
  const { name, value } = field
  if (name === 'baggage') return withoutSentry(value).map((kept) => ({ name, value: kept }))
  if (name !== 'idempotency-key' || !AUTOMATIC_KEY.test(value)) return [field]
  return all.filter((other) => other.name === name).length > 1 ? [field] : []
}

function withoutSentry(baggage: string): readonly string[] {
  if (baggage.includes('"')) return [baggage]
  const kept = baggage.split(',').filter((member) => !/^[ \t]*sentry-/.test(member))
  return kept.length === 0 ? [] : [kept.join(',')]
}

/** Removes the blanks that HTTP allows around a field value. `trim` would also remove characters that servers keep. */
function trimBlanks(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value, start)) start += 1
  while (end > start && isBlank(value, end - 1)) end -= 1
  return value.slice(start, end)
}

function isBlank(value: string, at: number): boolean {
  return value[at] === ' ' || value[at] === '\t'
}
