import { ERRORS, type ErrorCode } from '../../core/errors.ts'
import { type GoldenCase, readCorpus, USUAL_HOST } from '../core/connectors/golden.ts'
import type { AgentLine } from './agent-line.ts'
import { HOSTS } from './every-connector.ts'
import type { RawAnswer } from './raw-http.ts'
import type { Seen } from './recorder.ts'

/** Every case of the corpora; its place is its number. */
export const CORPUS: readonly GoldenCase[] = readCorpus().flatMap(({ cases }) => cases)
const MARK = 'X-Corpus-Case'

export type TrafficRow = Readonly<Record<string, unknown>>
/** A case of the corpora that was sent through a gateway. */
export type Sent = { readonly golden: GoldenCase; readonly mark: string; readonly answer: RawAnswer }

const FORBIDDEN_IN_H2 = /^(connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i

/** What no authority holds; `Host` is checked for it below us. */
const NO_AUTHORITY = /[^a-z0-9._~!$&'()*+,;=:[\]%-]/i
const UNREADABLE = /[^\x21-\x7e]/
/** A head that asks for a web socket has a key, or no server answers 101. */
const WEB_SOCKET = [
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['Sec-WebSocket-Version', '13'],
] as const

/** Why a case cannot be sent that way, or null. */
export function inexpressible(way: string, { request }: GoldenCase): string | null {
  if (way.endsWith('absolute') && !request.target.startsWith('/')) return 'an absolute form has a path'
  if (way.endsWith('absolute') && UNREADABLE.test(request.target))
    return 'nobody can tell whose such a head is'
  if (!way.endsWith('h2')) return null
  if (request.headers.some(([name]) => FORBIDDEN_IN_H2.test(name))) return 'HTTP/2 has no such header'
  if (NO_AUTHORITY.test(request.host ?? '')) return 'the library ends the stream at such a host'
  return UNREADABLE.test(request.target) ? 'the library ends the stream at such a path' : null
}

/** Sends the cases one after another. `way` is in the mark of each, by which its arrival at the upstream is found. */
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
    // Where a case is about the spelling of the host, the tunnel leads to the plain one.
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

/** What the upstream saw, by the mark of the case. */
export function arrivalsOf(seen: readonly Seen[]): ReadonlyMap<string, readonly Seen[]> {
  const byMark = new Map<string, Seen[]>()
  for (const one of seen) {
    const mark = one.header(MARK) ?? 'unmarked'
    byMark.set(mark, [...(byMark.get(mark) ?? []), one])
  }
  return byMark
}

/** An MCP client gets a refusal as an error of JSON-RPC. */
export function isRpcError({ connector }: GoldenCase, { status, body }: RawAnswer): boolean {
  return connector === 'mcp' && status === 200 && body.includes('"error"')
}

function statusOf(code: string): number {
  return ERRORS[code as ErrorCode].status
}

/** Names that fit: one, or any of what it may be as long as the body was not there to say. */
export function namesOf({ expect: wanted, request, connector }: GoldenCase): readonly string[] {
  if (connector === 'mcp' && request.method === 'POST' && request.body === undefined)
    return ['mcp.rpc.unknown']
  return wanted.action === undefined ? [...(wanted.actions ?? wanted.candidates ?? [])] : [wanted.action]
}

/** Two cases carry a credential where their provider takes one: it is taken out, and with it the `?`. */
function withoutCredential(target: string): string {
  return target.replace(/\?(?:token|key|api_key)=[^&]*$/, '')
}

/** What went wrong with one request under rules that allow everything; empty when nothing did. */
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
    // The listener calls malformed what the rules would call ambiguous: either way 400, and the connection ends.
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
