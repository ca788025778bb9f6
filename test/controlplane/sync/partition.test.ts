import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import { type ControlPlane, createControlPlane } from '../../../sidecar/control/control-plane.ts'
import { createKillState, type KillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import { createTestClock, type TestClock } from '../../sidecar/control/control-world.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'
import { eventually } from '../../support/eventually.ts'
import { freezePostgres } from '../../support/freeze-postgres.ts'
import { NO_CANCELLATIONS } from '../../support/no-hosted-work.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startTcpRelay, type TcpRelay } from '../../support/tcp-relay.ts'
import { type Enrolled, openStream, person, type Replica, startWorld, type World } from './harness.ts'

/*
 * Two replicas, each with a way of its own to one PostgreSQL, and the control side of a gateway behind a balancer. The
 * clock of replica A is moved, so that its last read is too old without waiting for it.
 */
const BEAT_MS = 1_000
/** A connection takes longer to fail than the 2 s within which a kill switch must be answered. */
const TIMES = { hangMs: 500, connectMs: 3_000, beatMs: BEAT_MS } as const

let world: World
let wayOfA: TcpRelay
let wayOfB: TcpRelay
let clockOfA: TestClock
let clockOfB: TestClock
let a: Replica
let b: Replica
let balancer: TcpRelay
let gateway: Enrolled
const gateways: TestGateway[] = []
const admin = person({ role: 'admin', email: 'root@example.com' })
type Reply = { acknowledged: { acked: number; total: number }; warning?: string; stored?: false }

const activate = async (on: Replica, reason: string, scope = 'all') =>
  (await on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: true, reason, scope }))
    .body as unknown as Reply
const lift = (on: Replica, scope = 'all') =>
  on.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false, scope })
const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

type TestGateway = AsyncDisposable & {
  readonly control: ControlPlane
  readonly kill: KillState
  readonly clock: TestClock
  readonly processId: string
}

function startGateway(dir: string, of = gateway): TestGateway {
  const log = createTestLog()
  const clock = createTestClock()
  const kill = createKillState({ file: join(dir, 'kill.json'), live: createLiveExchanges(), clock, log })
  const processId = `proc_${randomUUID()}`
  const control = createControlPlane({
    ...{ url: balancer.url, token: of.token, processId, kill, clock, log },
    streamTimes: { silenceMs: 3 * BEAT_MS, firstBeatMs: 1.5 * BEAT_MS, firstSearchMs: 200, searchMs: 400 },
    random: Math.random,
    status: () => ({
      ...{ url: '', version: '0', applied_version: null, agents: 1, uptime_seconds: 1 },
      journal: { state: 'ok', pending: 0, bytes: 0 },
    }),
    onQuota: () => undefined,
    onSnapshot: () => undefined,
    execute: () => Promise.reject(new Error('no order is expected here')),
    cancellations: NO_CANCELLATIONS,
  })
  control.start()
  const started: TestGateway = {
    ...{ control, kill, clock, processId },
    async [Symbol.asyncDispose]() {
      control.close()
      control.holds.failAll(new Error('test is over'))
      await control.client.close()
    },
  }
  gateways.push(started)
  return started
}
const isStopped = ({ kill }: TestGateway) => kill.effective().length > 0

let dir = ''
beforeAll(async () => {
  world = await startWorld(startPostgres)
})
afterAll(() => world?.stop())
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-partition-'))
  wayOfA = await startTcpRelay(world.database.url)
  wayOfB = await startTcpRelay(world.database.url)
  clockOfA = createTestClock()
  clockOfB = createTestClock()
  b = await world.replica({ ...TIMES, databaseUrl: wayOfB.url, clock: clockOfB })
  a = await world.replica({ ...TIMES, databaseUrl: wayOfA.url, clock: clockOfA })
  gateway = await b.enrol('default/local')
  balancer = await startTcpRelay(a.url)
  await b.db.query('truncate gateway_processes, replicas')
})
afterEach(async () => {
  for (const one of gateways.splice(0)) await one[Symbol.asyncDispose]()
  await balancer[Symbol.asyncDispose]()
  await wayOfA.restore()
  await wayOfB.restore()
  await eventually('the database is back', () =>
    lift(b).then(
      () => true,
      () => null,
    ),
  )
  await a.stop()
  await b.stop()
  await wayOfA[Symbol.asyncDispose]()
  await wayOfB[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

async function connectToA(): Promise<TestGateway> {
  const one = startGateway(dir)
  await until('lease', () => one.control.heartbeats.isConnected && one.control.leaseStep() === 'ok')
  await until('both replicas know it', () => b.hub.liveOf(gateway.id)?.processes === 1)
  return one
}

const CUTS: ReadonlyArray<readonly [string, () => Promise<void> | void]> = [
  ['refuses', () => wayOfA.refuse()],
  ['is a black hole', () => wayOfA.swallow()],
]

describe.each(CUTS)('a replica whose database %s', (_, cut) => {
  test('keeps its stream, sends no heartbeats, and loses its gateway to one that does; the kill switch of the other arrives', async () => {
    const one = await connectToA()
    await cut()
    clockOfA.advance(60_000)
    const first = await activate(b, 'set elsewhere')
    // It is not reached, and it is not forgotten either.
    expect(first.acknowledged).toMatchObject({ acked: 0, total: 1 })
    expect([a.hub.isHere(gateway.id), isStopped(one)]).toEqual([true, false])
    // Not before: a gateway that has found the other replica acknowledges, and has left this one.
    balancer.retarget(b.url)
    await until('stopped through the other replica', () => isStopped(one))
    await eventually('acknowledged', async () => {
      const { acked, total } = (await activate(b, 'set elsewhere')).acknowledged
      return acked === 1 && total === 1 ? true : null
    })
    expect(one.control.leaseStep()).toBe('ok')
  })

  test('still stops its gateway: answered as not stored, kept at another replica, stored when it is back', async () => {
    const one = await connectToA()
    await cut()
    const reply = await activate(a, 'without a database')
    expect(reply).toMatchObject({ stored: false, warning: expect.stringContaining('is not stored yet') })
    await until('stopped', () => isStopped(one))
    await wayOfA.restore()
    await until('stored', () => b.hub.kill.effective().length === 1)
    expect((await lift(b)).status).toBe(200)
    await until('lifted', () => !isStopped(one))
  })
})

const EVERYWHERE: ReadonlyArray<readonly [string, () => Promise<() => Promise<void> | void>]> = [
  ['refuses', () => cutBoth((way) => way.refuse())],
  ['is a black hole', () => cutBoth((way) => way.swallow())],
  ['stands still', async () => (await freezePostgres(world.database.adminUrl)).thaw],
]
async function cutBoth(cut: (way: TcpRelay) => Promise<void> | void): Promise<() => Promise<void>> {
  const ways = [wayOfA, wayOfB]
  await Promise.all(ways.map(cut))
  return async () => void (await Promise.all(ways.map((way) => way.restore())))
}

describe.each(EVERYWHERE)('a database that %s for every replica', (_, cut) => {
  test('leaves the streams, through which stops arrive, and the lease runs; both end with it', async () => {
    const one = await connectToA()
    const restore = await cut()
    const pass = (ms: number) => {
      for (const clock of [clockOfA, clockOfB, one.clock]) clock.advance(ms)
    }
    try {
      // A beat that was on its way when the database was cut arrives before the kill switch, not after the clocks moved.
      const reply = await activate(a, 'nothing is stored')
      expect(reply).toMatchObject({ stored: false, acknowledged: { acked: 1 } })
      expect(isStopped(one)).toBe(true)
      pass(30_000)
      expect(one.control.leaseStep()).toBe('high_risk')
      pass(90_000)
      expect(one.control.leaseStep()).toBe('writes')
      expect([a.hub.isHere(gateway.id), one.control.heartbeats.isConnected]).toEqual([true, true])
      const lifted = await lift(a)
      expect(lifted.status).toBe(503)
      expect(isStopped(one)).toBe(true)
    } finally {
      await restore()
    }
    await until('stored', () => b.hub.kill.effective().length === 1)
    await until('lease', () => one.control.leaseStep() === 'ok')
    expect((await lift(a)).status).toBe(200)
    await until('lifted', () => !isStopped(one))
  })
})

test('a kill switch that a gateway forwards while the database drops all packets reaches the other gateways; nothing else is done', async () => {
  const one = await connectToA()
  const second = await b.enrol('default/second')
  const forward = (command: string, input: unknown) =>
    a.gateway(second, 'POST', '/api/gateway/commands', { command, input })
  expect((await forward('approvals.pending', undefined)).status).toBe(200)
  await wayOfA.swallow()
  const reply = await forward('kill-switch', { active: true, scope: 'agent:x' })
  expect(reply.body).toMatchObject({ status: 200, body: { stored: false, acknowledged: { acked: 1 } } })
  expect(one.kill.effective()).toMatchObject([{ scope: 'agent:x', source: 'gateway:default/second' }])
  const others: ReadonlyArray<readonly [string, unknown]> = [
    ['kill-switch', { active: false, scope: 'agent:x' }],
    ['kill-switch', { active: 'true' }],
    ['kill-switch', {}],
    ['approvals.pending', undefined],
    ['agents.register', { name: 'mallory' }],
    ['enforcement', { mode: 'observe' }],
  ]
  const refused = await Promise.all(others.map(([command, input]) => forward(command, input)))
  expect(refused.map(({ status }) => status)).toEqual(others.map(() => 503))
  expect(one.kill.effective()).toHaveLength(1)
  await wayOfA.restore()
  await until('stored', () => b.hub.kill.effective().length === 1)
  await lift(b, 'agent:x')
})

describe('a kill switch that was announced and not stored', () => {
  test('outlives its replica: the gateway brings it to another one, where it is stored, seen and lifted for good', async () => {
    const one = await connectToA()
    await wayOfA.refuse()
    await activate(a, 'of a replica that dies')
    await until('stopped', () => isStopped(one))
    balancer.retarget(b.url)
    const dying = a.stop()
    await until('stored by the other', () => b.hub.kill.effective().length === 1)
    expect(isStopped(one)).toBe(true)
    await until('settled', () => one.kill.report().announced === undefined)
    const { rows } = await b.db.query('select scope, source, reason from kill_switches')
    expect(rows).toEqual([{ scope: 'all', source: 'dashboard', reason: 'of a replica that dies' }])
    await lift(b)
    await until('lifted', () => !isStopped(one))
    await wayOfA.restore()
    await dying
    expect(b.hub.kill.effective()).toEqual([])
  })

  test('is not stored again by the replica that announced it when another one lifted it in the meantime', async () => {
    const one = await connectToA()
    await wayOfA.refuse()
    await activate(a, 'lifted elsewhere')
    await until('stopped', () => isStopped(one))
    balancer.retarget(b.url)
    balancer.cut()
    await until('stored by the other', () => b.hub.kill.effective().length === 1)
    await lift(b)
    await until('lifted', () => !isStopped(one))
    await wayOfA.restore()
    await until('the first replica has read again', () => a.hub.kill.announcements().length === 0)
    expect([a.hub.kill.effective(), b.hub.kill.effective()]).toEqual([[], []])
    expect(isStopped(one)).toBe(false)
  })

  test('is sent to no other gateway by a replica whose database cannot say whether it was lifted', async () => {
    const one = await connectToA()
    await wayOfA.refuse()
    const announcedBy = async (reason: string) => {
      await activate(a, reason)
      return eventually('announced', () => {
        const given = one.kill.report().announced?.filter(({ entry }) => entry.reason === reason)
        return given?.length === 1 ? given : null
      })
    }
    const lifted = await announcedBy('lifted before it comes back')
    await wayOfA.restore()
    await until('stored', () => b.hub.kill.effective().length === 1)
    await lift(a)
    await until('lifted', () => !isStopped(one) && b.hub.kill.effective().length === 0)
    const second = await b.enrol('default/second')
    const stream = await openStream(b, second, { processId: 'proc_second' })
    await stream.next('sections')
    await Promise.all([wayOfA, wayOfB].map((way) => way.refuse()))
    const open = await announcedBy('not stored anywhere')
    const giveBack = async (announced: AckBody['announced']) => {
      const body = { announced, applied_at: new Date().toISOString() }
      await b.hub.publish({ process_id: 'proc_second', gateway_id: second.id, kind: 'ack', body })
    }
    const from = stream.messages.length
    for (let attempt = 0; attempt < 20; attempt++) {
      for (const given of [lifted, open, [...lifted, ...open], [...open, ...lifted]]) await giveBack(given)
    }
    await wait(200)
    expect(stream.messages.slice(from).filter(({ type }) => type === 'kill')).toEqual([])
    expect(b.hub.kill.announcements()).toEqual([])
    await wayOfB.restore()
    await eventually('the open one is stored', async () => {
      await giveBack([...lifted, ...open])
      return b.hub.kill.effective().length === 1 ? true : null
    })
    expect(b.hub.kill.effective()[0]?.reason).toBe('not stored anywhere')
    await stream.next('kill', ({ effective }) => effective.length > 0)
    const reasons = stream.messages.flatMap((message) =>
      message.type === 'kill' ? message.effective.map(({ reason }) => reason) : [],
    )
    expect(new Set(reasons)).toEqual(new Set(['not stored anywhere']))
    stream.close()
    await wayOfA.restore()
    await until('the other replica has read it', () => a.hub.kill.announcements().length === 0)
  })

  test('is not believed when its proof is not of a replica', async () => {
    const entry = { scope: 'all', source: 'dashboard', reason: 'forged', since: new Date().toISOString() }
    const forged = { id: 'forged', entry, proof: 'ab'.repeat(32) }
    const genuine = { ...(await announced()), entry }
    for (const announcement of [forged, genuine, { ...genuine, proof: '' }, { ...genuine, proof: 'zz' }]) {
      const ack = { announced: [announcement], applied_at: new Date().toISOString() }
      expect((await b.gateway(gateway, 'POST', '/api/gateway/ack', ack)).status).toBe(200)
    }
    const one = await connectToA()
    await activate(b, 'a real one', 'agent:x')
    await until('stopped', () => isStopped(one))
    expect(b.hub.kill.effective()).toMatchObject([{ scope: 'agent:x' }])
    await lift(b, 'agent:x')
  })
})

/** A real announcement of replica B, to be bent. */
async function announced() {
  const { announcement } = b.hub.kill.announce({
    ...{ scope: 'agent:bent', source: 'dashboard', reason: 'r', since: new Date().toISOString() },
  })
  b.hub.kill.retract([announcement.id])
  return announcement
}

test('a replica that lags lifts nothing, also after the gateway was started again', async () => {
  const one = await connectToA()
  await wayOfA.refuse()
  balancer.retarget(b.url)
  balancer.cut()
  await until('at the other', () => one.control.heartbeats.isConnected)
  await activate(b, 'the lagging one does not know it')
  await until('stopped', () => isStopped(one))
  await one[Symbol.asyncDispose]()
  const order = JSON.parse(readFileSync(join(dir, 'kill.json'), 'utf8')).order
  expect(order.revision).toBeGreaterThan(0)
  const again = startGateway(dir)
  expect(isStopped(again)).toBe(true)
  // What replica A would send: an earlier state without the kill switch.
  again.kill.applyRemote([], {
    ...{ order: { ...order, revision: order.revision - 1 }, stored: [], announced: [], settled: [] },
  })
  expect(isStopped(again)).toBe(true)
  await wayOfA.restore()
})

test('a database that lost commits begins a new epoch: the kill switch that it lost stays, and its state counts', async () => {
  const one = await connectToA()
  await activate(b, 'lost with the failover')
  await until('stopped', () => isStopped(one))
  const before = one.kill.report().kill_order
  await b.db.query('delete from kill_switches')
  await b.db.query('update state_order set kill_revision = 1')
  await until('a new epoch', () => (one.kill.report().kill_order?.epoch ?? 0) > (before?.epoch ?? 0))
  expect(isStopped(one)).toBe(true)
  await eventually('stored again', async () =>
    (await b.db.query('select 1 from kill_switches')).rowCount === 1 ? true : null,
  )
  await until('nothing is left to store', () =>
    [a, b].every(({ hub }) => hub.kill.announcements().length === 0),
  )
  expect((await lift(b)).status).toBe(200)
  await until('lifted', () => !isStopped(one))
  await activate(b, 'after the failover')
  await until('stopped again', () => isStopped(one))
})
