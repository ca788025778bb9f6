import type { ExecuteRequest } from '../../../../core/connectors/connector.ts'
import { ChaperoneError, type ErrorCode } from '../../../../core/errors.ts'
import type { RawHeaders } from '../../../../core/request/canonical.ts'
import type { Resolve } from '../../../../core/request/outbound-address.ts'
import { HEADERS } from '../../../../core/wire/schema/limits.ts'
import {
  type Answer,
  CallError,
  callGateway,
  checkAddress,
  exposesKey,
  type GatewayAddress,
  resolveByDns,
} from '../../gateways/dial.ts'
import type { Outcome } from './record.ts'

/** A request with the agent's own API key, in the form in which the agent would send it through the gateway. */
export type ProxiedRequest = {
  readonly agent: string
  /** API key that authenticated the call of the agent. The key is neither stored nor logged. */
  readonly agentKey: string
  readonly scheme: 'http' | 'https'
  readonly request: ExecuteRequest
}

/** The gateway at the setting `gateway_url`, after a successful health check. */
export type UrlGateway = {
  /**
   * Sends the request through the proxy of the gateway. Resolves to null when the gateway is unreachable and nothing
   * was sent.
   */
  send(request: ProxiedRequest): Promise<Outcome | null>
}

/** Checks that a gateway answers at the URL. Rejects with `not_ready` and the reason when it does not. */
export type FindUrlGateway = (url: string) => Promise<UrlGateway>

const HEALTH_MS = 2_000
const HEALTH_BYTES = 64 * 1024
const SEND_MS = 30_000
const RESULT_BYTES = 1024 * 1024

/**
 * Creates the function that checks the gateway at the setting `gateway_url` and sends requests through the explicit
 * proxy of this gateway. The function is used for a gateway without a stream to any replica. The gateway decides each
 * request by its own rules, adds the credential and writes a record, as for every request.
 */
export function createFindUrlGateway(options: { readonly resolve?: Resolve } = {}): FindUrlGateway {
  return async (text) => {
    const place = await checkAddress(text, options.resolve ?? resolveByDns)
    if (typeof place === 'string') throw unusable(place)
    const exposed = exposesKey(place)
    if (exposed !== null) throw unusable(exposed)
    await assertGateway(place)
    return { send: (proxied) => send(place, proxied) }
  }
}

async function assertGateway(place: GatewayAddress): Promise<void> {
  const health = await callGateway(place, {
    method: 'GET',
    target: '/health',
    headers: ['Host', place.url.host],
    body: null,
    timeoutMs: HEALTH_MS,
    maxBytes: HEALTH_BYTES,
  }).catch((error: unknown) => {
    throw error instanceof CallError ? unusable(error.message) : error
  })
  const state = stateOf(health)
  if (state === 'ok' || state === 'degraded') return
  throw unusable(
    state === 'not_ready'
      ? 'the gateway has no configuration yet'
      : 'the server at this address is not a gateway',
  )
}

async function send(place: GatewayAddress, proxied: ProxiedRequest): Promise<Outcome | null> {
  try {
    const call = { ...callOf(proxied), timeoutMs: SEND_MS, maxBytes: RESULT_BYTES }
    return outcomeOf(await callGateway(place, call))
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return error.isSent ? unknown(error) : null
  }
}

function stateOf({ status, body }: Answer): unknown {
  const health = jsonOf(body)
  if (typeof health !== 'object' || health === null || !('uptime_seconds' in health)) return null
  return 'status' in health && (status === 200 || status === 503) ? health.status : null
}

/**
 * Returns the request to the proxy in absolute form (RFC 9112, 3.2.2). The scheme in the request target determines
 * whether the gateway connects to the upstream by TLS, independent of the scheme of `gateway_url`.
 */
function callOf({ agent, agentKey, scheme, request }: ProxiedRequest) {
  const { method, host, target, body } = request
  const bytes = body === undefined ? null : Buffer.from(body)
  const credential = Buffer.from(`${agent}:${agentKey}`).toString('base64')
  return {
    method,
    target: `${scheme}://${host}${target}`,
    headers: [
      'Host',
      host,
      'User-Agent',
      'chaperone',
      'Proxy-Authorization',
      `Basic ${credential}`,
      // The header is necessary because Node otherwise sends `Transfer-Encoding: chunked`, and the gateway would expect
      // a body of unknown length.
      ...(method === 'GET' ? [] : ['Content-Length', String(bytes?.length ?? 0)]),
      ...proxiedHeaders(request),
    ],
    body: bytes,
  }
}

/**
 * Returns the header fields for the upstream. Adds the header `Accept` for any media type when the request has none.
 */
export function proxiedHeaders({ headers }: ExecuteRequest): RawHeaders {
  const accepts = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'accept')
  return accepts ? headers : ['Accept', '*/*', ...headers]
}

/**
 * Converts a response to an outcome, with the same rules as for execution orders: a response of the upstream below 500
 * is a result; an error of the gateway is a failure.
 */
function outcomeOf(answer: Answer): Outcome {
  const { status, headers } = answer
  const own = headers[HEADERS.error.toLowerCase()]
  if (own !== undefined) return failed(`${refusalText(answer)}`, status)
  if (status >= 500) return failed(`the upstream answered ${status}`, status)
  return { isDone: true, status, result: resultOf(answer), error: null, code: null }
}

function failed(error: string, status: number): Outcome {
  const code: ErrorCode = status === 403 ? 'denied' : status === 504 ? 'upstream_timeout' : 'upstream_failed'
  return { isDone: false, status, result: null, error, code }
}

function unknown({ isLate }: CallError): Outcome {
  const why = isLate ? 'did not answer within 30 s' : 'broke the connection'
  const error = `the gateway ${why}, so the result of the action is unknown: check at the provider whether it took effect`
  return { isDone: false, status: null, result: null, error, code: 'upstream_timeout' }
}

/**
 * Returns the error of a gateway's response as `error: message`. For MCP, the JSON-RPC error of the response contains
 * both texts.
 */
function refusalText({ body, status }: Answer): string {
  const parsed = jsonOf(body)
  const { error, message } = isObject(parsed) ? parsed : {}
  const [first, second] = isObject(error) ? [error['message'], undefined] : [error, message]
  if (typeof first !== 'string') return `the gateway answered ${status}`
  return typeof second === 'string' && second !== first ? `${first}: ${second}` : first
}

/**
 * Parses a JSON body and returns a text body unchanged. Returns null for other media types and for a truncated body.
 */
function resultOf({ headers, body, isWhole }: Answer): unknown {
  const type = String(headers['content-type'] ?? '')
  if (!isWhole || body.length === 0) return null
  if (/[/+]json\b/i.test(type)) return jsonOf(body) ?? null
  return /^text\//i.test(type) ? body.toString('utf8') : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function unusable(why: string): ChaperoneError {
  return new ChaperoneError('not_ready', {
    error: 'No gateway available',
    detail: `No process of the agent's gateway is connected, and gateway_url cannot be used: ${why}. Start the gateway, or correct the setting, then execute again with the same decision token.`,
    retryAfterS: 5,
  })
}
