import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GatewayLive } from '../../../core/wire/gateways.ts'
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
const JOURNAL = { state: 'ok', pending: 0, bytes: 0 }
const NOW = '2026-01-01T00:00:00.000Z'

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

async function activate(on: Replica, reason: string): Promise<Acknowledged> {
  const { body } = await on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: true, reason })
  return body['acknowledged'] as Acknowledged
}
const lift = (on: Replica) => on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false })

type Connecting = { acks?: boolean; processId?: string; acksTo?: Replica }
async function connect(to: Replica, options: Connecting = {}) {
  const stream = await openStream(to, gateway, { acks: true, ...options })
  streams.push(stream)
  await stream.next('sections')
  return stream
}
const processesAt = (replica: Replica) => replica.hub.liveOf(gateway.id)?.processes ?? 0

/** As a control plane that was killed leaves a process of a gateway behind. */
async function leftBehind({ id, name }: { readonly id: string; readonly name: string }): Promise<void> {
  await one.db.query("insert into replicas (id) values ('proc_killed') on conflict do nothing")
  await one.db.query(
    `insert into gateway_processes (process_id, gateway_id, replica_id, connected_at, facts)
     values ('proc_dead', $1, 'proc_killed', clock_timestamp(), $2)`,
    [id, { name, applied_version: 0, sent_version: 0, agents: 0, uptime_seconds: 1 }],
  )
}

test('the only replica does not count the local process of one that was killed a moment ago', async () => {
  await leftBehind({ ...gateway, name: 'default/local' })
  const beside = await world.replica()
  expect(processesAt(beside)).toBe(1)
  const only = await world.replica({ isOnlyReplica: true })
  expect(only.hub.liveOf(gateway.id)).toBeNull()
  await connect(only)
  await eventually('the process is counted', () => (processesAt(only) === 1 ? true : null))
  await Promise.all([beside.stop(), only.stop()])
})

test('the only replica counts a process of another machine, which may run under its lease', async () => {
  await leftBehind({ ...(await one.enrol('default/remote')), name: 'default/remote' })
  await one.db.query("update replicas set seen_at = seen_at - interval '2 minutes' where id = 'proc_killed'")
  await one.db.query("update gateway_processes set reported_at = reported_at - interval '2 minutes'")
  const only = await world.replica({ isOnlyReplica: true })
  expect(await activate(only, 'away')).toMatchObject({ acked: 0, total: 1 })
  await lift(only)
  await one.db.query("update gateway_processes set disconnected_at = disconnected_at - interval '2 minutes'")
  const again = await world.replica({ isOnlyReplica: true })
  expect(await activate(again, 'away')).toMatchObject({ acked: 0, total: 1 })
  await lift(again)
  await Promise.all([only.stop(), again.stop()])
})

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
    expect(Math.abs(Date.now() - Date.parse(live.last_seen_at))).toBeLessThan(60_000)
    expect([...two.hub.connected()]).toEqual([gateway.id])
    expect([one.hub.isHere(gateway.id), two.hub.isHere(gateway.id)]).toEqual([true, true])
  })

  test('receive the agents that they share, and an update when one process has left', async () => {
    const shares = (stream: StreamClient, processes: number) =>
      stream.next('quota', ({ agents }) => (agents[0]?.processes ?? 0) === processes)
    const first = await connect(one)
    const second = await connect(two)
    const all = (processes: number) => [{ agent: '*', processes }]
    expect((await shares(first, 2)).agents).toEqual(all(2))
    expect((await shares(second, 2)).agents).toEqual(all(2))
    const third = await connect(two)
    expect((await shares(third, 3)).agents).toEqual(all(3))
    expect((await shares(first, 3)).agents).toEqual(all(3))
    second.close()
    third.close()
    expect((await shares(first, 0)).agents).toEqual([])
  })

  test('share the quota of an agent', async () => {
    const ask = async (at: Replica, processId: string, want: number) => {
      const asked = { agent: 'bot', per_minute: 15, want, used: [] }
      return (await at.gateway(gateway, 'POST', '/api/gateway/slots', asked, processId)).body
    }
    expect(await ask(one, 'proc_a', 10)).toEqual({ granted: 10, retry_after_ms: 0 })
    expect(await ask(two, 'proc_b', 10)).toEqual({ granted: 5, retry_after_ms: 0 })
    expect(await ask(one, 'proc_b', 10)).toEqual({ granted: 5, retry_after_ms: 0 })
    expect(await ask(two, 'proc_a', 0)).toMatchObject({ granted: 0 })
    expect(await ask(two, 'proc_b', 10)).toEqual({ granted: 10, retry_after_ms: 0 })
  })

  test('acknowledge a kill switch to each caller: 3 of 3, and the lift removes the reason', async () => {
    await connect(one)
    await connect(two)
    await connect(two)
    await bothSee(3)
    const done = await activate(one, 'drill')
    expect([done.acked, done.total]).toEqual([3, 3])
    // Nothing new: those of the other replica have acknowledged this very state before.
    expect(await activate(one, 'drill')).toMatchObject({ acked: 3, total: 3 })
    const lifted = (await lift(two)).body['acknowledged']
    expect(lifted).toMatchObject({ acked: 3, total: 3 })
  })

  test('one that does not acknowledge is counted separately, on any replica: 1 of 2', async () => {
    await connect(one)
    await connect(two, { acks: false })
    await bothSee(2)
    expect(await activate(one, 'deaf')).toMatchObject({ acked: 1, total: 2 })
    expect(await activate(two, 'deaf again')).toMatchObject({ acked: 1, total: 2 })
    await lift(one)
  })

  test('one that left the other replica a moment ago is missed: 1 of 2; back at this one it counts once', async () => {
    await connect(one)
    const moving = await connect(two, { processId: 'proc_moving' })
    await bothSee(2)
    moving.close()
    await bothSee(1)
    expect(await activate(one, 'away')).toMatchObject({ acked: 1, total: 2 })
    await connect(one, { processId: 'proc_moving' })
    await bothSee(2)
    expect(await activate(two, 'back')).toMatchObject({ acked: 2, total: 2 })
    await lift(one)
  })

  test('a new process takes the place of the one that left, at whichever replica it comes', async () => {
    const old = await connect(two)
    await bothSee(1)
    old.close()
    await bothSee(0)
    await connect(one)
    await bothSee(1)
    expect(await activate(two, 'replaced')).toMatchObject({ acked: 1, total: 1 })
    expect(await activate(one, 'replaced again')).toMatchObject({ acked: 1, total: 1 })
    await lift(one)
  })

  test('are disconnected when their replica stops, and connected again on another one', async () => {
    await connect(one, { processId: 'proc_home' })
    await connect(two, { processId: 'proc_refugee' })
    await bothSee(2)
    await two.stop()
    await eventually('it is missed', () => (processesAt(one) === 1 ? true : null))
    expect(await activate(one, 'one is away')).toMatchObject({ acked: 1, total: 2 })
    await connect(one, { processId: 'proc_refugee' })
    expect(await activate(one, 'both are here')).toMatchObject({ acked: 2, total: 2 })
    await lift(one)
  })

  test('of a replica that died without a word are away until their lease is over, by the database’s clock', async () => {
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
    expect(await activate(one, 'silent')).toMatchObject({ acked: 1, total: 2 })
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '600 seconds' where id = 'dead'",
    )
    // A process of the same gateway that comes does not take its place: it may still run.
    const other = await connect(one, { processId: 'proc_other' })
    await bothSee(2)
    expect(await activate(one, 'silent for long')).toMatchObject({ acked: 2, total: 3 })
    other.close()
    await eventually('the other left', async () => {
      const { rows } = await one.db.query<{ id: string }>(
        'delete from gateway_processes where disconnected_at is not null returning process_id as id',
      )
      return rows.some(({ id }) => id === 'proc_other') ? true : null
    })
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '616 seconds' where id = 'dead'",
    )
    await eventually('it is no longer counted', async () =>
      (await activate(one, 'gone')).total === 1 ? true : null,
    )
    await one.db.query(
      "update replicas set seen_at = clock_timestamp() - interval '86801 seconds' where id = 'dead'",
    )
    await one.db.query(
      "update gateway_processes set reported_at = reported_at - interval '86801 seconds' where replica_id = 'dead'",
    )
    await eventually('its rows are gone', async () => {
      const { rowCount } = await one.db.query("select 1 from gateway_processes where replica_id = 'dead'")
      return rowCount === 0 ? true : null
    })
    await lift(one)
  })

  test('that reconnected to another replica are removed from the first one and counted once: 1 of 1', async () => {
    const old = await connect(one, { processId: 'proc_moved' })
    await bothSee(1)
    const now = await connect(two, { processId: 'proc_moved' })
    await old.ended
    await eventually('the old stream is forgotten', () => (one.hub.isHere(gateway.id) ? null : true))
    await bothSee(1)
    expect(two.hub.isHere(gateway.id)).toBe(true)
    expect(await activate(one, 'moved')).toMatchObject({ acked: 1, total: 1 })
    await lift(two)
    now.close()
  })

  test('are reported again after the database has lost them', async () => {
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
      expect(await activate(one, 'no database')).toMatchObject({ acked: 1, total: 2 })
    } finally {
      await one.db.query('alter table kill_switches_away rename to kill_switches')
    }
    await eventually('the other is stopped, too', async () =>
      (await activate(one, 'no database')).acked === 2 ? true : null,
    )
    await lift(one)
  })
})

describe('what a process says to the replica that does not hold its stream', () => {
  const status = {
    url: '',
    version: '1',
    applied_version: 9,
    agents: 4,
    uptime_seconds: 70,
    journal: JOURNAL,
  }
  const say = (to: Replica, path: 'ack' | 'status', body: unknown, processId = 'proc_split') =>
    to.gateway(gateway, 'POST', `/api/gateway/${path}`, body, processId)
  const liveAt = (replica: Replica, fits: (live: GatewayLive) => boolean) =>
    eventually('the replica knows it', () => {
      const live = replica.hub.liveOf(gateway.id)
      return live !== null && fits(live) ? live : null
    })

  test('acknowledges a kill switch: n of n at both replicas', async () => {
    await connect(one, { processId: 'proc_split', acksTo: two })
    await connect(one, { processId: 'proc_other', acksTo: two })
    await connect(two, { acksTo: one })
    await bothSee(3)
    const done = await activate(one, 'split')
    expect(done).toMatchObject({ acked: 3, total: 3 })
    expect(await activate(two, 'split again')).toMatchObject({ acked: 3, total: 3 })
    await lift(one)
  })

  test('is its live state at both replicas, and the state that the operator reads', async () => {
    await connect(one, { processId: 'proc_split' })
    await bothSee(1)
    expect(
      (await say(two, 'status', { ...status, conditions: ['BypassDetected'], warnings: ['a', 'b'] })).status,
    ).toBe(200)
    for (const replica of [one, two]) {
      const live = await liveAt(replica, ({ agents }) => agents === 4)
      expect(live).toMatchObject({ processes: 1, applied_version: 9, warnings: ['a', 'b'] })
      expect(live.uptime_seconds).toBeGreaterThanOrEqual(70)
    }
    const rejected = { version: 10, error: 'connectors: unknown type' }
    expect((await say(two, 'ack', { rejected, applied_at: NOW })).status).toBe(200)
    for (const replica of [one, two]) {
      await eventually('the refusal is known', async () => {
        const [known] = replica.hub.processes()
        return known?.rejected === rejected.error && known.conditions[0] === 'BypassDetected' ? true : null
      })
    }
    expect((await say(two, 'ack', { version: 11, applied_at: NOW })).status).toBe(200)
    for (const replica of [one, two]) {
      await liveAt(replica, ({ applied_version }) => applied_version === 11)
      await eventually('it is taken back', () =>
        replica.hub.processes()[0]?.rejected === null ? true : null,
      )
    }
  })

  test('arrives in the order in which it was said', async () => {
    await connect(one, { processId: 'proc_ordered' })
    await bothSee(1)
    for (let agents = 1; agents <= 40; agents++)
      await say(two, 'status', { ...status, agents }, 'proc_ordered')
    await liveAt(one, ({ agents }) => agents === 40)
    const { rowCount } = await one.db.query("select 1 from replica_mailbox where process_id = 'proc_ordered'")
    expect(rowCount).toBe(0)
  })

  test('is found by looking when its notification was lost', async () => {
    await connect(one, { processId: 'proc_split' })
    await bothSee(1)
    await one.db.query(
      `insert into replica_mailbox (process_id, gateway_id, kind, body) values ('proc_split', $1, 'status', $2)`,
      [gateway.id, JSON.stringify({ ...status, agents: 17 })],
    )
    await liveAt(one, ({ agents }) => agents === 17)
  })

  test('cannot be said by another gateway, here or there; nor can another gateway take its stream', async () => {
    const foreign = await one.enrol('default/foreign')
    await connect(one, { processId: 'proc_split', acks: false })
    await bothSee(1)
    for (const replica of [one, two]) {
      await replica.gateway(foreign, 'POST', '/api/gateway/status', { ...status, agents: 99 }, 'proc_split')
    }
    expect(await activate(one, 'forged')).toMatchObject({ acked: 0, total: 1 })
    for (const replica of [one, two]) {
      const ack = { kill_seq: Date.now() + 60_000, applied_at: NOW }
      await replica.gateway(foreign, 'POST', '/api/gateway/ack', ack, 'proc_split')
    }
    expect(await activate(one, 'forged again')).toMatchObject({ acked: 0, total: 1 })
    await say(two, 'status', { ...status, agents: 5 })
    await liveAt(one, ({ agents }) => agents === 5)
    const thief = await one.gateway(foreign, 'GET', '/api/gateway/stream', undefined, 'proc_split')
    expect(thief.status).toBe(403)
    expect(one.hub.liveOf(gateway.id)?.processes).toBe(1)
    await lift(one)
  })

  test('of a process that is not connected is discarded, and an error of the database is sent to the gateway', async () => {
    expect((await say(two, 'status', status, 'proc_nobody')).status).toBe(200)
    await one.db.query("update replica_mailbox set published_at = published_at - interval '2 minutes'")
    await say(two, 'status', status, 'proc_nobody_else')
    const { rows } = await one.db.query<{ id: string }>('select process_id as id from replica_mailbox')
    expect(rows.map(({ id }) => id)).toEqual(['proc_nobody_else'])
    await one.db.query('alter table replica_mailbox rename to replica_mailbox_away')
    try {
      expect((await say(two, 'status', status, 'proc_nobody')).status).toBeGreaterThanOrEqual(500)
    } finally {
      await one.db.query('alter table replica_mailbox_away rename to replica_mailbox')
    }
  })
})
