import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemActor } from '../../../controlplane/features/audit/actor.ts'
import {
  createKillSwitch,
  type ForwardedKill,
  type KillChange,
} from '../../../controlplane/features/kill-switch/service.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type Enrolled,
  openStream,
  person,
  type Replica,
  type StreamClient,
  startWorld,
  type World,
} from '../sync/harness.ts'

/* Stops of gateways, which repeat them until they are stored. */
let world: World
let replica: Replica
let other: Replica
let gateway: Enrolled
/** Open until the end, because an activation waits for the acknowledgement of a process whose stream has just closed. */
const streams: StreamClient[] = []
const admin = person({ role: 'admin', email: 'root@example.com' })

beforeAll(async () => {
  world = await startWorld()
  // The database is there: however slow it is, its answer counts.
  const waits = { answerMs: 30_000, settledMs: 30_000 }
  replica = await world.replica({ waits })
  other = await world.replica({ waits })
  gateway = await replica.enrol('default/local')
})
afterAll(async () => {
  for (const stream of streams) stream.close()
  await world.stop()
})
afterEach(() => lift(replica))

const lift = (on: Replica) =>
  on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false, scope: 'all' })
type Sent = { readonly active?: boolean; readonly retriedMs?: number; readonly scope?: string }
async function send(
  id: string,
  { active = true, retriedMs, scope = 'all' }: Sent = {},
  as = gateway,
  on = replica,
) {
  const forwarded = { id, ...(retriedMs === undefined ? {} : { retried_after_ms: retriedMs }) }
  const body = { command: 'kill-switch', input: { active, scope, reason: 'by the gateway' }, stop: forwarded }
  const reply = await on.gateway(as, 'POST', '/api/gateway/commands', body)
  return reply.body as {
    status: number
    body: { stored?: false; order?: { revision: number }; effective: unknown[] }
  }
}
const activations = async () => {
  const { rowCount } = await replica.db.query(
    "select 1 from audit_events where event_type = 'kill_switch.activated'",
  )
  return rowCount
}

test('a repeated kill switch is stored once, and the answer has a state that contains it', async () => {
  const id = randomUUID()
  const before = await activations()
  const first = await send(id)
  expect(first).toMatchObject({ status: 200, body: { order: { revision: expect.any(Number) } } })
  for (const on of [replica, other]) {
    const again = await send(id, { retriedMs: 1_000 }, gateway, on)
    expect(again.body.order?.revision).toBeGreaterThanOrEqual(first.body.order?.revision ?? Number.NaN)
  }
  expect(await activations()).toBe(before + 1)
  expect(replica.hub.kill.effective()).toHaveLength(1)
})

test.each([
  ['at the same replica', () => replica],
  ['at another replica', () => other],
])('a kill switch that was lifted is not set again by a repetition %s, of whatever age', async (_, on) => {
  const id = randomUUID()
  await send(id)
  await lift(other)
  const stream = await openStream(on(), gateway, { acks: true })
  streams.push(stream)
  await stream.next('sections')
  const from = stream.messages.length
  for (const retriedMs of [0, 1, 1_000, 86_400_000]) {
    const reply = await send(id, { retriedMs }, gateway, on())
    expect(reply.body.stored).toBeUndefined()
    expect(reply.body.order).toBeDefined()
    expect(reply.body.effective).toEqual([])
  }
  const active = stream.messages
    .slice(from)
    .filter((message) => message.type === 'kill' && message.effective.length > 0)
  expect(active).toEqual([])
})

test('a kill switch that was lifted before it arrived is not set', async () => {
  const id = randomUUID()
  await send(id, { active: false })
  for (const on of [replica, other]) {
    await send(id, {}, gateway, on)
    await eventually('it is not in force', () => (on.hub.kill.effective().length === 0 ? true : null))
  }
  const { rowCount } = await replica.db.query('select 1 from kill_switches')
  expect(rowCount).toBe(0)
})

test('the number of another gateway ends or replaces nothing', async () => {
  const thief = await replica.enrol('default/thief')
  const id = randomUUID()
  await send(id)
  await send(id, { scope: 'agent:x' }, thief)
  await send(id, { active: false }, thief)
  expect(
    replica.hub.kill
      .effective()
      .map(({ source, scope }) => [source, scope])
      .toSorted(),
  ).toEqual([
    ['gateway:default/local', 'all'],
    ['gateway:default/thief', 'agent:x'],
  ])
  await send(randomUUID(), { active: false, scope: 'agent:x' }, thief)
})

test.each(['', 'x', `gw_1:${randomUUID()}`, `${randomUUID()} `, '../..', 1, null, {}])(
  'the number %j is refused and activates nothing',
  async (id) => {
    const body = { command: 'kill-switch', input: { active: true }, stop: { id } }
    expect((await replica.gateway(gateway, 'POST', '/api/gateway/commands', body)).status).toBe(400)
    expect(replica.hub.kill.effective()).toEqual([])
  },
)

describe('without an answer of the database', () => {
  const away = () => Promise.reject(new Error('the database is away'))
  const hangs = () => new Promise<never>(() => undefined)
  const set = (query: () => Promise<never>, own: ForwardedKill) => {
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
    const killSwitch = createKillSwitch({
      ...{ db: { ...replica.db, query, tx: query }, hub: replica.hub, orgId: replica.orgId, clock },
      ...{ log: pino({ level: 'silent' }), cancelKilled: async () => undefined },
    })
    const change: KillChange = { active: true, source: 'gateway:default/local', by: systemActor('test'), own }
    return killSwitch.set(change)
  }
  test.each([
    ['is away', away],
    ['hangs', hangs],
  ])(
    'that %s a kill switch is broadcast when it is new or young, but not when it is old',
    async (_, query) => {
      for (const retriedAfterMs of [undefined, 1_000, 600_000]) {
        const id = `gw_x:${randomUUID()}`
        expect(await set(query, { id, retriedAfterMs })).toMatchObject({ stored: false })
        expect(replica.hub.kill.isAnnounced(id)).toBe(true)
        replica.hub.kill.retract([id])
      }
      for (const retriedAfterMs of [600_001, 86_400_000]) {
        const id = `gw_x:${randomUUID()}`
        await expect(set(query, { id, retriedAfterMs })).rejects.toMatchObject({ code: 'not_ready' })
        expect(replica.hub.kill.isAnnounced(id)).toBe(false)
      }
    },
  )
})
