import { readdirSync, readFileSync } from 'node:fs'
import { classify, decidingKeys, overridableBody, scannedMembers } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import { bodyStripping, stripBodyFields } from '../../../core/connectors/credentials/credentials.ts'
import { type BoundConnector, bindConnector } from '../../../core/connectors/registry.ts'
import { isPlainJson, parseBody } from '../../../core/request/body/body.ts'
import {
  type CanonicalRequest,
  isRefusal,
  type RawRequest,
  type Refusal,
  refusal,
} from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import { scanJson } from '../../../core/request/json/json-scan.ts'
import { judgeBodyOverride } from '../../../core/request/method-override.ts'
import { runSliced } from '../../../core/sliced.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { inflate, objectId } from '../../../sidecar/pipeline/body/git-objects.ts'

/** One line of `test/golden/requests/*.json`: a request in no transport's words, and what it is. */
export type GoldenCase = {
  readonly name: string
  readonly connector: ConnectorEntry['type']
  /** The provider would reach a host that servers read differently: denied whatever the rules say. */
  readonly isAlwaysDenied?: boolean
  /** Kind of the id in the request that the provider gave to another agent, where a test says so. Otherwise, it is unknown. */
  readonly foreign?: string
  readonly request: {
    readonly method: string
    readonly target: string
    /** Where it goes when that is not the connector's usual host. */
    readonly host?: string
    readonly headers: ReadonlyArray<readonly [string, string]>
    /** UTF-8 text; absent when the request is judged before its body was read. */
    readonly body?: string
  }
  /** Exactly one of action, actions, candidates, refusal; `parameters` is a subset. */
  readonly expect: {
    readonly action?: string
    readonly actions?: readonly string[]
    /** Target and effect of each of `actions`, as cards and audit events list them. */
    readonly details?: ReadonlyArray<{
      readonly target: string | null
      readonly effect: string
      readonly effects?: readonly string[]
    }>
    /** Effect classes of the first of `actions` for which the gateway has no look-up. */
    readonly unanswered?: readonly string[]
    readonly candidates?: readonly string[]
    /** What it does besides where a look-up says so. */
    readonly possible?: readonly string[]
    readonly refusal?: string
    /** Effect classes that its actions have at least. */
    readonly effects?: readonly string[]
    readonly risk?: string
    readonly effect?: string
    readonly target?: string
    /** The target in the provider's one spelling, as conditions see it. */
    readonly canonical?: string
    readonly parameters?: Readonly<Record<string, unknown>>
  }
}

export const USUAL_HOST: Readonly<Record<ConnectorEntry['type'], string>> = {
  codehost: 'api.github.com',
  llm_a: 'api.openai.com',
  llm_b: 'api.anthropic.com',
  llm_c: 'generativelanguage.googleapis.com',
  payments: 'api.stripe.com',
  chat: 'slack.com',
  generic: 'api.generic.test',
  webhook: 'hooks.webhook.test',
  mcp: 'tools.mcp.test',
}

const CONFIGURED = new Set(['generic', 'webhook', 'mcp'])
const FOLDER = new URL('../../golden/requests/', import.meta.url)

export function readCorpus(): ReadonlyArray<{ file: string; cases: readonly GoldenCase[] }> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'))
  return files.map((file) => ({ file, cases: JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) }))
}

export function entryOf(type: ConnectorEntry['type'], more: Partial<ConnectorEntry> = {}): ConnectorEntry {
  return {
    id: `conn_${type}`,
    name: type,
    type,
    domains: CONFIGURED.has(type) ? [USUAL_HOST[type]] : [],
    ports: [443],
    auth: { type: 'bearer' },
    secret: 'stored',
    upstream: { allowPrivateAddresses: false },
    tlsMode: 'intercept',
    errorShape: 'service',
    actions: [],
    source: 'api',
    managed_by: null,
    ...more,
  }
}

export function boundOf(type: ConnectorEntry['type'], more: Partial<ConnectorEntry> = {}): BoundConnector {
  return bindConnector(entryOf(type, more))
}

export function rawOf(request: GoldenCase['request'], usualHost: string): RawRequest {
  const length = request.body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(request.body))]
  return {
    method: request.method,
    target: request.target,
    rawHeaders: ['Host', request.host ?? usualHost, ...length, ...request.headers.flat()],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  }
}

/** From raw request to class, as the gateway does it. */
export function nameRequest(bound: BoundConnector, raw: RawRequest, body?: string): Classification {
  const request = canonicalise(raw)
  if (isRefusal(request)) return request
  if (body === undefined) return classify(bound, request)
  const reader = body === '' ? null : bound.connector.readsHead?.(request, bound.config)
  if (reader) {
    if (request.body.encoding !== undefined) return refusal('unsupported_body', 'the head cannot be read')
    const bytes = Buffer.from(body, 'latin1')
    const commits = runSliced(reader.read(bytes, { inflate, objectId }, 'commits'))
    return classify(bound, request, { kind: 'head', bytes, commits })
  }
  const named = nameWithBody(bound, request, Buffer.from(body))
  return isRefusal(named) ? named : (judgeOverriding(bound, request, Buffer.from(body)) ?? named)
}

function nameWithBody(bound: BoundConnector, request: CanonicalRequest, bytes: Buffer): Classification {
  const keys = decidingKeys(bound, request)
  const keep = isPlainJson(request.body) ? scannedMembers(bound, request) : null
  if (keep !== null && bytes.length > 0) {
    const scan = runSliced(scanJson(bytes, { keep, find: bound.connector.find }))
    return isRefusal(scan)
      ? scan
      : classify(bound, request, { kind: 'json', value: scan.value, found: scan.found })
  }
  const view = parseBody(bytes, request.body, keys)
  // A body that decides nothing streams by: what is wrong with it is between the agent and the upstream.
  if (isRefusal(view)) return keys.length > 0 ? view : classify(bound, request)
  return classify(bound, request, view)
}

/**
 * Judges a body that the gateway reads for another reason than classification: the body may override the method or
 * contain a credential.
 */
function judgeOverriding(bound: BoundConnector, request: CanonicalRequest, bytes: Buffer): Refusal | null {
  const overriding = overridableBody(bound, request) === null ? null : judgeBodyOverride(bytes, request)
  if (overriding !== null || bodyStripping(request, bound.connector).kind !== 'read') return overriding
  const type = headerValue(request.rawHeaders, 'content-type')
  const stripped = stripBodyFields(bytes, type, bound.connector.carriers.bodyFields)
  return isRefusal(stripped) && stripped.code === 'ambiguous_request' ? stripped : null
}
