import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  type Enrolled,
  openStream,
  person,
  type Replica,
  type StreamClient,
  startWorld,
  type World,
} from './harness.ts'

let world: World
let one: Replica
let two: Replica
let gateway: Enrolled
let streams: StreamClient[] = []

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.stop())
beforeEach(async () => {
  one = await world.replica()
  two = await world.replica()
  gateway = await one.enrol('default/local')
  await one.db.query('delete from gateway_processes')
})
afterEach(async () => {
  for (const stream of streams) stream.close()
  streams = []
  await one.stop()
  await two.stop()
})

const admin = person({ role: 'admin', email: 'root@example.com' })
type Acknowledged = { acked: number; total: number; ms: number }

async function stop(on: Replica, reason: string): Promise<Acknowledged> {
  const { body } = await on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: true, reason })
  return body['acknowledged'] as Acknowledged
}
const lift = (on: Replica) => on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false })

async function connect(to: Replica, options: { acks?: boolean; processId?: string } = {}) {
  const stream = await openStream(to, gateway, { acks: true, ...options })
  streams.push(stream)
  await stream.next('manifest')
  return stream
}
const processesAt = (replica: Replica) => replica.hub.liveOf(gateway.id)?.processes ?? 0
const bothSee = (count: number) =>
  eventually(`both replicas see ${count} processes`, () =>
    [one, two].every((replica) => processesAt(replica) === count) ? true : null,
  )

describe('gateway processes at two replicas', () => {
  test('are counted by both, with what each of them said of itself', async () => {
    await connect(one, { processId: 'proc_a' })
    await connect(two, { processId: 'proc_b' })
    await bothSee(2)
    const status = {
      url: '',
      version: '1',
      applied_version: 7,
      agents: 3,
      uptime_seconds: 500,
      journal: JOURNAL,
    }
    await two.gateway(gateway, 'POST', '/api/gateway/status', status, 'proc_b')
    await one.gateway(
      gateway,
      'POST',
      '/api/gateway/status',
      { ...status, agents: 2, uptime_seconds: 20 },
      'proc_a',
    )
    const live = await eventually('the other replica hears it', () => {
      const known = one.hub.liveOf(gateway.id)
      return known?.agents === 5 ? known : null
    })
    expect(live.applied_version).toBe(7)
    expect(live.uptime_seconds).toBeGreaterThanOrEqual(500)
    expect(live.uptime_seconds).toBeLessThan(560)
    expect(Math.abs(Date.now() - Date.parse(live.last_seen_at))).toBeLessThan(10_000)
    expect([...two.hub.connected()]).toEqual([gateway.id])
    expect([one.hub.isHere(gateway.id), two.hub.isHere(gateway.id)]).toEqual([true, true])
  })

  test('acknowledge a stop to whoever asks: 3 of 3, the reason on the way back gone again', async () => {
    await connect(one)
    await connect(two)
    await connect(two)
    await bothSee(3)
    const done = await stop(one, 'drill')
    expect([done.acked, done.total]).toEqual([3, 3])
    expect(done.ms).toBeLessThan(2_000)
    // Nothing new: those of the other replica have acknowledged this very state before.
    expect(await stop(one, 'drill')).toMatchObject({ acked: 3, total: 3 })
    const lifted = (await lift(two)).body['acknowledged']
    expect(lifted).toMatchObject({ acked: 3, total: 3 })
  })

  test('one that does not acknowledge is told apart, wherever it is: 1 of 2', async () => {
    await connect(one)
    await connect(two, { acks: false })
    await bothSee(2)
    expect(await stop(one, 'deaf')).toMatchObject({ acked: 1, total: 2 })
    expect(await stop(two, 'deaf again')).toMatchObject({ acked: 1, total: 2 })
    await lift(one)
  })

  test('one that left the other replica a moment ago is missed: 1 of 2; back at this one it counts once', async () => {
    await connect(one)
    const moving = await connect(two, { processId: 'proc_moving' })
    await bothSee(2)
    moving.close()
    await bothSee(1)
    expect(await stop(one, 'away')).toMatchObject({ acked: 1, total: 2 })
    await connect(one, { processId: 'proc_moving' })
    await bothSee(2)
    expect(await stop(two, 'back')).toMatchObject({ acked: 2, total: 2 })
    await lift(one)
  })

  test('a new process takes the place of the one that left, at whichever replica it comes', async () => {
    const old = await connect(two)
    await bothSee(1)
    old.close()
    await bothSee(0)
    await connect(one)
    await bothSee(1)
    expect(await stop(two, 'replaced')).toMatchObject({ acked: 1, total: 1 })
    expect(await stop(one, 'replaced again')).toMatchObject({ acked: 1, total: 1 })
    await lift(one)
  })

  test('are away when their replica stops, and there again when another one has them', async () => {
    await connect(one, { processId: 'proc_home' })
    await connect(two, { processId: 'proc_refugee' })
    await bothSee(2)
    await two.stop()
    await eventually('it is missed', () => (processesAt(one) === 1 ? true : null))
    expect(await stop(one, 'one is away')).toMatchObject({ acked: 1, total: 2 })
    await connect(one, { processId: 'proc_refugee' })
    expect(await stop(one, 'both are here')).toMatchObject({ acked: 2, total: 2 })
    await lift(one)
  })

  test('of a replica that died without a word are away once it was silent, by the database’s clock', async () => {
    await connect(one)
    await one.db.query("insert into replicas (id) values ('dead')")
    await one.db.query(
      `insert into gateway_processes (process_id, gateway_id, replica_id, facts) values ('proc_orphan', $1, 'dead',
        '{"name":"default/local","applied_version":1,"sent_version":1,"agents":0,"uptime_seconds":1}')`,
      [gateway.id],
    )
    await bothSee(2)
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '11 seconds' where id = 'dead'",
    )
    await bothSee(1)
    expect(await stop(one, 'silent')).toMatchObject({ acked: 1, total: 2 })
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '61 seconds' where id = 'dead'",
    )
    await eventually(
      'it is forgotten',
      async () => ((await stop(one, 'gone')).total === 1 ? true : null),
      10_000,
    )
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '301 seconds' where id = 'dead'",
    )
    await one.db.query(
      "update gateway_processes set told_at = told_at - interval '301 seconds' where replica_id = 'dead'",
    )
    await eventually('its rows are gone', async () => {
      const { rowCount } = await one.db.query("select 1 from gateway_processes where replica_id = 'dead'")
      return rowCount === 0 ? true : null
    })
    await lift(one)
  })

  test('are said again after the database has forgotten them', async () => {
    await connect(one)
    await connect(two)
    await bothSee(2)
    await one.db.query('truncate gateway_processes, replicas')
    await eventually('the rows are back', async () => {
      const { rowCount } = await one.db.query(
        'select 1 from gateway_processes join replicas on id = replica_id',
      )
      return rowCount === 2 ? true : null
    })
    await bothSee(2)
  })

  test('are stopped while the database is away: what is connected here counts, the rest is missed', async () => {
    await connect(one)
    await connect(two)
    await bothSee(2)
    await one.db.query('alter table kill_switches rename to kill_switches_away')
    try {
      expect(await stop(one, 'no database')).toMatchObject({ acked: 1, total: 2 })
    } finally {
      await one.db.query('alter table kill_switches_away rename to kill_switches')
    }
    await eventually('the other is stopped, too', async () =>
      (await stop(one, 'no database')).acked === 2 ? true : null,
    )
    await lift(one)
  })
})

const JOURNAL = { state: 'ok', pending: 0, bytes: 0 }
