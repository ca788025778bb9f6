import { ERRORS, type ErrorCode } from '../../core/errors.ts'
import { type GoldenCase, readCorpus, USUAL_HOST } from '../core/connectors/golden.ts'
import type { AgentLine } from './agent-line.ts'
import { HOSTS } from './every-connector.ts'
import type { RawAnswer } from './raw-http.ts'
import type { Seen } from './recorder.ts'

/** All cases of the corpus. The index of a case is its number. */
export const CORPUS: readonly GoldenCase[] = readCorpus().flatMap(({ cases }) => cases)
const MARK = 'X-Corpus-Case'

export type TrafficRow = Readonly<Record<string, unknown>>
/** A case of the corpus that was sent through a gateway, with the response. */
export type Sent = { readonly golden: GoldenCase; readonly mark: string; readonly answer: RawAnswer }

const FORBIDDEN_IN_H2 = /^(connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i

/** Matches characters that Node's HTTP/2 client refuses in `:authority`. */
const NO_AUTHORITY = /[^a-z0-9._~!$&'()*+,;=:[\]%-]/i
const UNREADABLE = /[^\x21-\x7e]/
/** Header fields without which a server does not answer 101 to a WebSocket upgrade. */
const WEB_SOCKET = [
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['Sec-WebSocket-Version', '13'],
] as const

/** Returns the reason for which a case cannot be sent with the protocol `way`; null when it can be sent. */
export function inexpressible(way: string, { request }: GoldenCase): string | null {
  if (way.endsWith('absolute') && !request.target.startsWith('/')) return 'an absolute form has a path'
  if (way.endsWith('absolute') && UNREADABLE.test(request.target))
    return 'nobody can tell whose such a head is'
  if (!way.endsWith('h2')) return null
  if (request.headers.some(([name]) => FORBIDDEN_IN_H2.test(name))) return 'HTTP/2 has no such header'
  if (NO_AUTHORITY.test(request.host ?? '')) return 'the library ends the stream at such a host'
  return UNREADABLE.test(request.target) ? 'the library ends the stream at such a path' : null
}

/**
 * Sends the cases one after another. Each request has a header with `way` and the number of the case, by which `arrivalsOf`
 * finds the request at the upstream.
 */
export async function sendCases(
  line: AgentLine,
  way: string,
  cases: readonly GoldenCase[],
): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  for (const golden of cases) {
    const { request } = golden
    const mark = `${way}/${CORPUS.indexOf(golden)}`
    const isUpgrade = request.headers.some(([name]) => name.toLowerCase() === 'upgrade')
    const headers = [...request.headers, ...(isUpgrade ? WEB_SOCKET : []), [MARK, mark] as const]
    const host = USUAL_HOST[golden.connector]
    // When a case tests an unusual spelling of the host, CONNECT names the usual host.
    const own = request.host === undefined ? [] : ([['Host', request.host]] as const)
    const tunnel = HOSTS[golden.connector].find((one) => request.host === one) ?? host
    const full = { ...request, host: tunnel, headers: [...own, ...headers] }
    const answer = await line.send(full).catch((error: Error) => {
      throw new Error(`${way}: ${golden.name}: ${error.message}`, { cause: error })
    })
    sent.push({ golden, mark, answer })
  }
  return sent
}

/** Returns the requests that the upstream received, by the mark of their case. */
export function arrivalsOf(seen: readonly Seen[]): ReadonlyMap<string, readonly Seen[]> {
  const byMark = new Map<string, Seen[]>()
  for (const one of seen) {
    const mark = one.header(MARK) ?? 'unmarked'
    byMark.set(mark, [...(byMark.get(mark) ?? []), one])
  }
  return byMark
}

/** Reports whether the response is a JSON-RPC error, the form in which an MCP client receives a refusal. */
export function isRpcError({ connector }: GoldenCase, { status, body }: RawAnswer): boolean {
  return connector === 'mcp' && status === 200 && body.includes('"error"')
}

function statusOf(code: string): number {
  return ERRORS[code as ErrorCode].status
}

/** Returns the action names that are correct for a case. A case whose action depends on the body has several names. */
export function namesOf({ expect: wanted, request, connector }: GoldenCase): readonly string[] {
  if (connector === 'mcp' && request.method === 'POST' && request.body === undefined)
    return ['mcp.rpc.unknown']
  return wanted.action === undefined ? [...(wanted.actions ?? wanted.candidates ?? [])] : [wanted.action]
}

/**
 * Removes a credential from the query string. Two cases carry a credential where their provider accepts one, and the gateway
 * removes it.
 */
function withoutCredential(target: string): string {
  return target.replace(/\?(?:token|key|api_key)=[^&]*$/, '')
}

/**
 * Returns the differences from the expected result of one case under rules that allow everything; empty when there are none.
 */
export function faultsOf(
  { golden, answer, mark }: Sent,
  row: TrafficRow | undefined,
  seen: readonly Seen[],
): string[] {
  const faults: string[] = []
  const fail = (text: string) => void faults.push(`${mark} ${golden.name}: ${text}`)
  const { refusal } = golden.expect
  const method = String(row?.['method'])
  if (method !== golden.request.method && !UNREADABLE.test(golden.request.target))
    fail(`its record is of ${method}`)
  if (refusal !== undefined && namesOf(golden).length === 0) {
    if (answer.status !== statusOf(refusal)) fail(`${answer.status}, wanted ${statusOf(refusal)}`)
    const code = answer.headers.get('x-service-error') ?? 'internal'
    // The listener may refuse a request as malformed before the rules refuse it as ambiguous. Both refusals have status 400.
    if (code !== refusal && statusOf(code) !== 400) fail(`refused as ${code}`)
    if (row?.['decision'] !== 'DENY') fail(`recorded as ${String(row?.['decision'])}`)
    if (seen.length > 0) fail('it reached the upstream')
    return faults
  }
  if (golden.isAlwaysDenied === true) {
    if (answer.status !== 403 || row?.['decision'] !== 'DENY' || seen.length > 0) fail('it was not denied')
    return faults
  }
  if (answer.status !== 200 && answer.status !== 101)
    fail(`answered ${answer.status} ${answer.body.toString().slice(0, 200)}`)
  if (!namesOf(golden).includes(String(row?.['action_type'])))
    fail(`recorded as ${String(row?.['action_type'])}`)
  if (row?.['decision'] !== 'ALLOW') fail(`decided ${String(row?.['decision'])}`)
  if (seen.length !== 1) fail(`it arrived ${seen.length} times`)
  for (const { target, body, method: arrived } of seen) {
    if (target !== withoutCredential(golden.request.target)) fail(`its target arrived as ${target}`)
    if (arrived !== golden.request.method) fail(`its method arrived as ${arrived}`)
    if (!body.equals(Buffer.from(golden.request.body ?? ''))) fail(`its body arrived as ${body.toString()}`)
  }
  return faults
}
