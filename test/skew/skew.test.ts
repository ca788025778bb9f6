import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROTOCOL } from '../../core/wire/gateway/sections/field-additions.ts'
import { eventually } from '../support/eventually.ts'
import { HOSTS } from '../support/every-connector.ts'
import {
  arrivalsOf,
  CORPUS,
  faultsOf,
  inexpressible,
  sendCases,
  type TrafficRow,
} from '../support/golden-line.ts'
import { IS_FULL } from '../support/proof.ts'
import {
  frozenPrograms,
  NEWER_VERSION,
  type NewerField,
  newerPrograms,
  type Programs,
  treePrograms,
} from './skew-programs.ts'
import { PROBED_HOST, type SkewWorld, startSkewWorld } from './skew-world.ts'

/** Fields of a newer version at every kind of place, which older gateways may ignore. They are sent all the same. */
const IGNORABLE = (
  [
    ['gateway', 'newer'],
    ['gateway', 'egress.newer'],
    ['gateway', 'approvals.newer'],
    ['agents', 'newer'],
    ['connectors', 'newer'],
    ['connectors', 'auth.newer'],
    ['connectors', 'upstream.newer'],
    ['policies', 'document.scope.newer'],
    ['policies', 'document.rules.newer'],
    ['permissions', 'newer'],
  ] as const
).map(
  ([section, field]): NewerField => ({
    section,
    field,
    since: 1,
    older: 'ignore',
    value: { deep: [{ x: 1 }] },
  }),
)

let tree: Programs
let newer: Programs
let frozen: Programs

beforeAll(async () => {
  tree = await treePrograms()
  newer = await newerPrograms()
  frozen = frozenPrograms()
})
afterAll(() => {
  for (const programs of [newer, frozen]) programs?.[Symbol.dispose]()
})

/** Every n-th case of the corpora; the nightly run takes all of them. */
const SPREAD = 40
const CASES = CORPUS.filter(
  (golden, place) => (IS_FULL || place % SPREAD === 7) && inexpressible('connect-h1', golden) === null,
)

/** Cases that one agent sends: a gateway writes the first 60 refusals of an agent in a minute as records of their own. */
const CASES_OF_AGENT = 50
const AGENTS = Math.ceil(CASES.length / CASES_OF_AGENT)

/** Sends golden requests, and returns what differs from the corpora in answers, arrivals and records. */
async function faultsIn(world: SkewWorld): Promise<readonly string[]> {
  const faults: string[] = []
  for (const [at, agent] of world.agents.entries()) {
    const cases = CASES.slice(at * CASES_OF_AGENT, (at + 1) * CASES_OF_AGENT)
    const sent = await sendCases(agent.line, 'skew', cases)
    const rows = await recordsOf(world, agent.name, sent.length)
    expect(rows).toHaveLength(sent.length)
    const seen = arrivalsOf(world.everything.recorder.seen)
    faults.push(...sent.flatMap((one, place) => faultsOf(one, rows[place], seen.get(one.mark) ?? [])))
  }
  return faults
}

async function recordsOf(world: SkewWorld, agent: string, atLeast: number): Promise<readonly TrafficRow[]> {
  return eventually(`${agent} has ${atLeast} records`, async () => {
    const { traffic } = await world.api(`/api/dashboard/traffic?limit=500&agent=${agent}`)
    const own = (traffic as readonly TrafficRow[]).filter(({ host }) => host !== PROBED_HOST)
    return own.length < atLeast ? null : own.sort((a, b) => Number(a['seq']) - Number(b['seq']))
  })
}

async function gatewayView(world: SkewWorld) {
  const { gateways } = (await world.api('/api/dashboard/gateway')) as {
    readonly gateways: ReadonlyArray<{
      readonly name: string
      readonly live: { readonly versions: readonly string[]; readonly warnings: readonly string[] } | null
    }>
  }
  return gateways[0]?.live ?? null
}

/** In `npm test` the tests of versions with more fields stand for those of equal fields. */
const nightly = test.runIf(IS_FULL)

describe('versions beside each other', () => {
  nightly(
    'a control plane serves gateways of the frozen version: the golden requests are as ever',
    async () => {
      await using world = await startSkewWorld({ controlPlane: tree, gateway: frozen, agents: AGENTS })
      expect(await faultsIn(world)).toEqual([])
    },
    240_000,
  )

  nightly(
    'a gateway works with a control plane of the frozen version',
    async () => {
      await using world = await startSkewWorld({ controlPlane: frozen, gateway: tree, agents: AGENTS })
      expect(await faultsIn(world)).toEqual([])
    },
    240_000,
  )

  test('a control plane with more fields serves gateways of the frozen version', async () => {
    await using world = await startSkewWorld({
      controlPlane: newer,
      gateway: frozen,
      newer: IGNORABLE,
      agents: AGENTS,
    })
    expect(await faultsIn(world)).toEqual([])
    const live = await gatewayView(world)
    expect(live?.warnings).toEqual([
      expect.stringContaining(`run an older version than the control plane (${NEWER_VERSION})`),
    ])
  }, 240_000)

  test('a gateway with more fields works with a control plane of the frozen version', async () => {
    await using world = await startSkewWorld({ controlPlane: frozen, gateway: newer, agents: AGENTS })
    expect(await faultsIn(world)).toEqual([])
    const live = await gatewayView(world)
    expect(live?.versions).toEqual([NEWER_VERSION])
    expect(live?.warnings).toEqual([
      expect.stringContaining('Upgrade the control plane before its gateways.'),
    ])
  }, 240_000)

  test('records of a newer gateway keep decisions and sources that the control plane does not have', async () => {
    const why = {
      ...{ source: 'budget', reason: 'used up', pattern: null, rules: [], risk_score: 0, risk_factors: [] },
      approver_groups: [],
    }
    const words = { decision: 'DEFER', would: 'REDACT', handle: 'lent', why }
    await using world = await startSkewWorld({ controlPlane: tree, gateway: newer, words })
    expect((await world.line.send({ method: 'GET', host: HOSTS.generic[0], target: '/x' })).status).toBe(200)
    const record = await eventually('the record is stored', async () => {
      const { traffic } = await world.api('/api/dashboard/traffic?agent=agent')
      return (traffic as readonly TrafficRow[])[0] ?? null
    })
    expect(record).toMatchObject(words)
    expect(world.log()).not.toContain('rejects this record')
  }, 240_000)

  test('a critical field of a newer control plane denies its own scope, and the refusal and the page say why', async () => {
    const field: NewerField = {
      ...{ section: 'connectors', field: 'auth.rotate', since: PROTOCOL + 1, older: 'deny', value: 'daily' },
      names: ['default/payments'],
    }
    await using world = await startSkewWorld({
      controlPlane: newer,
      gateway: tree,
      newer: [field, ...IGNORABLE],
    })
    const get = (host: string, target: string) => world.line.send({ method: 'GET', host, target })
    const denied = await get(HOSTS.payments[0], '/v1/balance')
    expect(denied.status).toBe(403)
    const why = 'uses auth.rotate, which this version of the gateway does not understand'
    expect(String(JSON.parse(denied.body.toString()).reason)).toContain(why)
    expect((await get(HOSTS.generic[0], '/x')).status).toBe(200)
    expect(world.everything.recorder.seen).toHaveLength(1)
    await eventually('the page says so', async () =>
      (await gatewayView(world))?.warnings.some((warning) => warning.includes(why)) === true ? true : null,
    )
    // The pipe of the process may deliver the line later than the control plane shows the warning.
    await eventually('the gateway logs it', () =>
      world.log().includes('the configuration uses features of a newer gateway version') ? true : null,
    )
  }, 240_000)
})
