import { afterEach, describe, expect, it } from 'vitest'
import type { TrafficRecord } from '../../../core/record.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { killAll, type Rules, startWorld, type World, type WorldOptions } from './test-world.ts'

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

async function start(rules?: Rules, options?: WorldOptions): Promise<World> {
  const world = await startWorld(rules, options)
  open.push(world)
  return world
}

const MERGE: TestExchangeInput = { method: 'PUT', target: '/repos/acme/site/pulls/7/merge' }
const LIST: TestExchangeInput = { target: '/repos/acme/site/issues' }
const DENIED: Rules = { permissions: [['codehost.*', 'deny']] }

async function flood(world: World, count: number, input: (n: number) => TestExchangeInput = () => MERGE) {
  const ids: (string | undefined)[] = []
  for (let n = 0; n < count; n++) ids.push((await world.send(input(n))).reply.header('x-service-record'))
  return ids
}

const rowsOf = (world: World): TrafficRecord[] => [...world.grown.values()]
const countOf = (records: readonly TrafficRecord[]) =>
  records.reduce((sum, { refusals }) => sum + (refusals?.count ?? 1), 0)

describe('refusals beyond the first sixty of a minute', () => {
  it('are one aggregate record: the upstream sees nothing, each is counted, each response names it', async () => {
    const world = await start(DENIED)
    const ids = await flood(world, 200)
    expect(world.upstream.seen).toHaveLength(0)
    expect(world.records).toHaveLength(60)
    expect(world.counted).toHaveLength(140)
    const [row] = rowsOf(world)
    expect(row?.refusals).toMatchObject({ count: 140, distinct_targets: 1, targets: ['acme/site'] })
    expect(ids.slice(60).every((id) => id === row?.id)).toBe(true)
    expect(ids.slice(0, 60)).toEqual(world.records.map(({ id }) => id))
  })

  it.each<[string, Rules, (n: number) => TestExchangeInput, Partial<TrafficRecord>]>([
    [
      'an unknown host',
      {},
      (n) => ({ host: 'evil.example', target: `/${n}` }),
      { reason: 'unknown_host', host: 'evil.example', path: null },
    ],
    [
      'hosts of each their own',
      {},
      (n) => ({ host: `h${n % 90}.example`, target: '/' }),
      { reason: 'unknown_host', host: null },
    ],
    ['a path that cannot be read', DENIED, () => ({ target: '/%zz' }), { reason: 'ambiguous' }],
    [
      'an agent that is not registered',
      DENIED,
      () => ({ ...LIST, credentials: { kind: 'none' } }),
      { reason: 'agent', agent: null },
    ],
    [
      'paths that vary',
      DENIED,
      (n) => ({ target: `/repos/acme/site/issues/${n}` }),
      { reason: 'permission' },
    ],
    [
      'queries that vary',
      DENIED,
      (n) => ({ target: `/repos/acme/site/issues?page=${n}` }),
      { reason: 'permission', action_type: 'codehost.issue.list' },
    ],
    [
      'actions that vary',
      DENIED,
      (n) => (n % 2 ? MERGE : LIST),
      { reason: 'permission', action_type: null, method: '*' },
    ],
  ])('%s', async (_name, rules, input, expected) => {
    const world = await start(rules)
    await flood(world, 700, input)
    world.refusals.close()
    expect(world.upstream.seen).toHaveLength(0)
    expect(world.records.length).toBeLessThanOrEqual(600)
    expect(countOf(world.records)).toBe(700)
    const row = world.records.find(({ refusals }) => refusals != null)
    expect(row).toMatchObject({ decision: 'DENY', ...expected })
  })

  it.each<[string, (n: number) => TestExchangeInput]>([
    ['malformed paths of hosts of each their own', (n) => ({ host: `h${n}.example`, target: '/%zz' })],
    ['unknown hosts', (n) => ({ host: `h${n}.example`, target: '/' })],
    ['paths of one action', (n) => ({ target: `/repos/acme/r${n}/issues` })],
  ])('hide no denied action behind 700 %s', async (_name, input) => {
    const world = await start(DENIED)
    await flood(world, 700, input)
    const [id] = await flood(world, 1)
    expect(world.records.at(-1)).toMatchObject({
      ...{ id, action_type: 'codehost.pr.merge', decision: 'DENY', reason: 'permission' },
      audit: { requested: { resource: { target: 'acme/site' } } },
    })
    await flood(world, 80)
    world.refusals.close()
    expect(world.upstream.seen).toHaveLength(0)
    expect(world.records.length).toBeLessThanOrEqual(600)
    expect(countOf(world.records)).toBe(781)
    const row = world.records.find(({ refusals }) => refusals?.actions?.['codehost.pr.merge'])
    expect(row?.refusals?.reasons).toHaveProperty('permission')
  })

  it('counts what a kill switch refuses, with one action for all of it', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.state.kill = [killAll()]
    await flood(world, 100)
    const [row] = rowsOf(world)
    expect(row).toMatchObject({ reason: 'kill_switch', act_id: expect.stringMatching(/^act_/) })
    expect(row?.refusals).toMatchObject({ count: 40, reasons: { kill_switch: 40 } })
    expect(world.upstream.seen).toHaveLength(0)
  })

  it('gives the rate limit an aggregate without an action and without an audit event', async () => {
    const world = await start(DENIED)
    world.state.rate = { ok: false, retryAfterS: 3 }
    await flood(world, 100)
    expect(rowsOf(world)[0]).toMatchObject({ reason: 'rate_limit', act_id: null, audit: null })
  })

  it('drops the intents of addresses that are refused, so that none is left without a result', async () => {
    const world = await start({
      permissions: [['codehost.*', 'allow']],
      connectors: [{ upstream: { allowPrivateAddresses: false, url: 'https://127.0.0.1:1' } }],
    })
    await flood(world, 80, () => LIST)
    expect(world.intents).toHaveLength(80)
    expect(world.records).toHaveLength(60)
    expect(world.dropped).toEqual(world.intents.slice(60).map(({ id }) => id))
    expect(rowsOf(world)[0]).toMatchObject({ reason: 'address', act_id: expect.stringMatching(/^act_/) })
  })

  it('leave calls that are forwarded and requests that are held alone', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'deny'],
        ['codehost.issue.*', 'allow'],
        ['codehost.release.create', 'require_approval'],
      ],
    })
    await flood(world, 100)
    await flood(world, 70, () => LIST)
    expect(world.records.filter(({ decision }) => decision === 'ALLOW')).toHaveLength(70)
    world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: null })
    await flood(world, 70, () => ({
      method: 'POST',
      target: '/repos/acme/site/releases',
      body: '{"tag_name":"v1"}',
      headers: ['Content-Type', 'application/json'],
    }))
    expect(world.records.filter(({ approval_id }) => approval_id === 'apv_1')).toHaveLength(70)
    expect(countOf(rowsOf(world))).toBe(40)
  })

  it('have an aggregate for each window, whatever the wall clock says', async () => {
    const world = await start(DENIED)
    world.clock.wallMs = Date.parse('2026-03-01T00:00:59.900Z')
    await flood(world, 100)
    world.clock.wallMs = Date.parse('2026-02-28T00:00:00.000Z')
    await flood(world, 100)
    expect(rowsOf(world)).toHaveLength(1)
    world.clock.aheadMs = 60_001
    await flood(world, 100)
    expect(rowsOf(world)).toHaveLength(2)
    world.refusals.close()
    expect(countOf(world.records)).toBe(300)
  })

  it('are written when the window ends, without another request', async () => {
    const world = await start(DENIED, { refusalLimits: { whole: 5, windowMs: 500 } })
    await flood(world, 70)
    await eventually('the row', () => (countOf(world.records) === 70 ? true : null))
    expect(world.records.filter(({ refusals: row }) => row != null)).not.toHaveLength(0)
  })
})
