import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoldenCase } from '../core/connectors/golden.ts'
import { keyedAgent, portAgent } from '../support/agent.ts'
import { type AgentLine, absoluteLine, connectLine, http2Line } from '../support/agent-line.ts'
import { eventually } from '../support/eventually.ts'
import {
  allowAll,
  CONNECTOR_TYPES,
  denyAll,
  type Everything,
  type Rule,
  resource,
  startEverything,
} from '../support/every-connector.ts'
import {
  arrivalsOf,
  CORPUS as CASES,
  faultsOf,
  inexpressible,
  isRpcError,
  namesOf,
  type Sent,
  sendCases,
  type TrafficRow,
} from '../support/golden-line.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { IS_FULL, size } from '../support/proof.ts'

type Way = 'connect-h1' | 'connect-h2' | 'absolute' | 'port-h1' | 'port-h2' | 'port-absolute'

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
})
afterAll(async () => {
  for (const line of lines.values()) line.close()
  await laptop?.stop()
  await everything?.recorder.close()
})

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

/**
 * Every third case goes over one of the transports that can express it; the nightly run takes all cases over all transports.
 * The names of all cases are tested in `test/core/connectors`.
 */
function isTaken(way: Way, golden: GoldenCase): boolean {
  if (IS_FULL) return true
  const able = WAYS.filter((each) => inexpressible(each, golden) === null)
  const place = CASES.indexOf(golden)
  return place % 3 === 0 && able[(place / 3) % able.length] === way
}

/** One case of five, for the rules that treat all cases alike; all in the nightly run. */
const SAMPLE = CASES.filter((_, index) => index % size(5, 1) === 0)

async function sendAll(way: string, cases: readonly GoldenCase[]): Promise<readonly Sent[]> {
  const line = lines.get(way)
  if (line === undefined) throw new Error(`no line for ${way}`)
  return sendCases(line, way, cases)
}

const arrivals = () => arrivalsOf(everything.recorder.seen)

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

describe('lines of the corpora, live', () => {
  test.each(WAYS)(
    'over %s: the recorded name and the refusal are those of the corpus, and the upstream sees the sent request or nothing',
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

  test('if every class has the same verdict the body is streamed, byte for byte, and the record still has its action name', async () => {
    const cases = SAMPLE.filter(
      ({ request, expect: wanted }) => request.body !== undefined && wanted.refusal === undefined,
    )
    const sent = await sendAll('streaming', cases)
    const rows = await recordsOf('streaming', sent.length)
    const seen = arrivals()
    expect(sent.flatMap((one, at) => faultsOf(one, rows[at], seen.get(one.mark) ?? []))).toEqual([])
  }, 180_000)

  test('under rules that deny everything each has its action name, a 403 and one record, and the upstream sees nothing', async () => {
    const before = everything.recorder.seen.length
    const sent = await sendAll('denied', SAMPLE)
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

  test('no unlisted write is classified as a listed one: with every listed resource allowed, requests without a row are refused', async () => {
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
