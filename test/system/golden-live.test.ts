import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERRORS, type ErrorCode } from '../../core/errors.ts'
import { type GoldenCase, readCorpus, USUAL_HOST } from '../core/connectors/golden.ts'
import { keyedAgent, portAgent } from '../support/agent.ts'
import { type AgentLine, absoluteLine, connectLine, http2Line } from '../support/agent-line.ts'
import { eventually } from '../support/eventually.ts'
import {
  allowAll,
  CONNECTOR_TYPES,
  denyAll,
  type Everything,
  HOSTS,
  type Rule,
  resource,
  startEverything,
} from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { IS_FULL } from '../support/proof.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import type { Seen } from '../support/recorder.ts'

const CASES: readonly GoldenCase[] = readCorpus().flatMap(({ cases }) => cases)
const MARK = 'X-Corpus-Case'
type TrafficRow = Readonly<Record<string, unknown>>
type Way = 'connect-h1' | 'connect-h2' | 'absolute' | 'port-h1' | 'port-h2' | 'port-absolute'
type Sent = { readonly golden: GoldenCase; readonly mark: string; readonly answer: RawAnswer }

/**
 * An agent per way, so that its records are its own. A policy that looks at parameters makes the gateway read every
 * body of these agents; `streaming` has none, so that its bodies stream where every class has the same verdict.
 */
const WAYS: readonly Way[] = ['connect-h1', 'connect-h2', 'absolute', 'port-h1', 'port-h2', 'port-absolute']
const LISTED = listedNames()

let everything: Everything
let laptop: Laptop
const lines = new Map<string, AgentLine>()

beforeAll(async () => {
  const reading = resource(
    'Policy',
    'reading',
    `  scope: { agents: [${WAYS.join(', ')}] }\n  rules:\n    - { name: looks, conditions: ["'never_sent' in parameters"], decision: deny }\n`,
  )
  const rules: Record<string, readonly Rule[]> = {
    streaming: allowAll(),
    denied: denyAll(),
    'listed-only': LISTED,
  }
  for (const way of WAYS) rules[way] = allowAll()
  const gatewaySpec = '  rateLimit: { requestsPerMinute: 1000000 }\n  egress: { unmatchedHosts: tunnel }'
  everything = await startEverything({ rules, extra: reading, gatewaySpec })
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'everything.yaml': everything.manifests },
    env: { WHOLE_REFUSALS_PER_MINUTE: '100000' },
  })
  for (const name of [...WAYS, 'streaming', 'denied', 'listed-only']) lines.set(name, await openLine(name))
}, 60_000)
afterAll(async () => {
  for (const line of lines.values()) line.close()
  await laptop?.stop()
  await everything?.recorder.close()
}, 30_000)

async function openLine(name: string): Promise<AgentLine> {
  const { target } = await (name.startsWith('port-') ? portAgent(laptop, name) : keyedAgent(laptop, name))
  if (name.endsWith('absolute')) return absoluteLine(target)
  return name.endsWith('h2') ? http2Line(target) : connectLine(target)
}

/** Every allowed resource by `<connector>.<resource>.*`, all but what no row describes. */
function listedNames(): readonly Rule[] {
  const prefixes = new Set<string>()
  for (const { expect: wanted, connector } of CASES) {
    const [, resourceName] = wanted.action?.split('.') ?? []
    if (resourceName === undefined || resourceName === 'unmapped') continue
    prefixes.add(`${connector}.${resourceName}.*`)
  }
  return [...prefixes].flatMap((pattern) => {
    const type = CONNECTOR_TYPES.find((one) => pattern.startsWith(`${one}.`))
    return type === undefined || type === 'generic' || type === 'webhook'
      ? []
      : [[type, pattern, 'allow'] as const]
  })
}

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
function inexpressible(way: string, { request }: GoldenCase): string | null {
  if (way.endsWith('absolute') && !request.target.startsWith('/')) return 'an absolute form has a path'
  if (way.endsWith('absolute') && UNREADABLE.test(request.target))
    return 'nobody can tell whose such a head is'
  if (!way.endsWith('h2')) return null
  if (request.headers.some(([name]) => FORBIDDEN_IN_H2.test(name))) return 'HTTP/2 has no such header'
  if (NO_AUTHORITY.test(request.host ?? '')) return 'the library ends the stream at such a host'
  return UNREADABLE.test(request.target) ? 'the library ends the stream at such a path' : null
}

/**
 * All of the corpus goes over one transport, and once more spread over the five others; the nightly run takes all of it
 * over all of them.
 */
function isTaken(way: Way, golden: GoldenCase): boolean {
  const [, ...others] = WAYS
  return IS_FULL || way === WAYS[0] || CASES.indexOf(golden) % others.length === others.indexOf(way)
}

async function sendAll(way: string, cases: readonly GoldenCase[]): Promise<readonly Sent[]> {
  const line = lines.get(way)
  if (line === undefined) throw new Error(`no line for ${way}`)
  const sent: Sent[] = []
  for (const golden of cases) {
    const { request } = golden
    const mark = `${way}/${CASES.indexOf(golden)}`
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

/** All records of one agent, oldest first, once there are as many as there were requests (and no more). */
async function recordsOf(agent: string, count: number): Promise<readonly TrafficRow[]> {
  return eventually(`${count} records of ${agent}`, async () => {
    const rows: TrafficRow[] = []
    let cursor = ''
    do {
      const query = `limit=500&agent=${agent}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
      const { body } = await laptop.api('GET', `/api/dashboard/traffic?${query}`)
      rows.push(...((body['traffic'] as TrafficRow[]) ?? []))
      cursor = typeof body['next_cursor'] === 'string' ? body['next_cursor'] : ''
    } while (cursor !== '')
    const own = rows.filter((row) => row['host'] !== 'nobody.invalid')
    if (own.length < count) return null
    expect(own.length).toBe(count)
    return own.sort((a, b) => Number(a['seq'] ?? 0) - Number(b['seq'] ?? 0) || byTime(a, b))
  })
}

function byTime(a: TrafficRow, b: TrafficRow): number {
  return String(a['time']) < String(b['time']) ? -1 : 1
}

function arrivals(): ReadonlyMap<string, readonly Seen[]> {
  const byMark = new Map<string, Seen[]>()
  for (const seen of everything.recorder.seen) {
    const mark = seen.header(MARK) ?? 'unmarked'
    byMark.set(mark, [...(byMark.get(mark) ?? []), seen])
  }
  return byMark
}

/** An MCP client gets a refusal as an error of JSON-RPC. */
function isRpcError({ connector }: GoldenCase, { status, body }: RawAnswer): boolean {
  return connector === 'mcp' && status === 200 && body.includes('"error"')
}

function statusOf(code: string): number {
  return ERRORS[code as ErrorCode].status
}

/** Names that fit: one, or any of what it may be as long as the body was not there to say. */
function namesOf({ expect: wanted, request, connector }: GoldenCase): readonly string[] {
  if (connector === 'mcp' && request.method === 'POST' && request.body === undefined)
    return ['mcp.rpc.unknown']
  return wanted.action === undefined ? [...(wanted.actions ?? wanted.candidates ?? [])] : [wanted.action]
}

/** Two cases carry a credential where their provider takes one: it is taken out, and with it the `?`. */
function withoutCredential(target: string): string {
  return target.replace(/\?(?:token|key|api_key)=[^&]*$/, '')
}

/** What went wrong with one request under rules that allow everything; empty when nothing did. */
function faultsOf(
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

describe('every line of the corpora, live', () => {
  test.each(WAYS)(
    'over %s: the recorded name and the refusal are the corpus, and the upstream sees what was sent or nothing',
    async (way) => {
      const expressible = CASES.filter((golden) => inexpressible(way, golden) === null)
      expect(expressible.length).toBeGreaterThan(CASES.length * 0.95)
      const cases = expressible.filter((golden) => isTaken(way, golden))
      const sent = await sendAll(way, cases)
      const rows = await recordsOf(way, sent.length)
      const seen = arrivals()
      const faults = sent.flatMap((one, at) => faultsOf(one, rows[at], seen.get(one.mark) ?? []))
      expect(faults).toEqual([])
    },
    180_000,
  )

  test('where every class has the same verdict the body streams by, byte for byte, and the record is named all the same', async () => {
    const cases = CASES.filter(
      ({ request, expect: wanted }) => request.body !== undefined && wanted.refusal === undefined,
    )
    const sent = await sendAll('streaming', cases)
    const rows = await recordsOf('streaming', sent.length)
    const seen = arrivals()
    expect(sent.flatMap((one, at) => faultsOf(one, rows[at], seen.get(one.mark) ?? []))).toEqual([])
  }, 180_000)

  test('under rules that deny everything each gets its name, a 403 and one record, and the upstream sees nothing', async () => {
    const before = everything.recorder.seen.length
    const sent = await sendAll('denied', CASES)
    const rows = await recordsOf('denied', sent.length)
    const faults = sent.flatMap(({ golden, answer, mark }, at) => {
      const names = namesOf(golden)
      const row = rows[at]
      const wanted = names.length === 0 ? null : 403
      const isRefused =
        wanted === null ? answer.status >= 400 : answer.status === wanted || isRpcError(golden, answer)
      // A body is not read for `stream` where every name is denied.
      const name = String(row?.['action_type'])
      const isFolderChosen =
        names.length === 0 || names.includes(name) || names.includes(name.replace(/_stream$/, ''))
      const isRecorded = row?.['decision'] === 'DENY'
      return isRefused && isFolderChosen && isRecorded
        ? []
        : [
            `${mark} ${golden.name}: ${answer.status} ${String(row?.['action_type'])} ${String(row?.['decision'])}`,
          ]
    })
    expect(faults).toEqual([])
    expect(everything.recorder.seen.length).toBe(before)
  }, 180_000)

  test('no unlisted write passes for a listed one: with every listed resource allowed, what no row describes is refused', async () => {
    const unlisted = CASES.filter(
      ({ expect: { action } }) => action?.includes('.unmapped.') === true || action === 'mcp.rpc.unknown',
    )
    expect(unlisted.length).toBeGreaterThan(20)
    const before = everything.recorder.seen.length
    const sent = await sendAll('listed-only', unlisted)
    expect(
      sent
        .filter(({ golden, answer }) => answer.status !== 403 && !isRpcError(golden, answer))
        .map(({ golden }) => golden.name),
    ).toEqual([])
    expect(everything.recorder.seen.length).toBe(before)
  }, 180_000)
})
