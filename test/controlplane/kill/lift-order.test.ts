import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { systemActor } from '../../../controlplane/features/audit/actor.ts'
import {
  createKillSwitch,
  type KillChange,
  type KillSwitch,
} from '../../../controlplane/features/kill-switch/service.ts'
import type { KillAnnouncement } from '../../../core/wire/gateway/kill.ts'
import { eventually } from '../../support/eventually.ts'
import { type Enrolled, openStream, type Replica, startWorld, type World } from '../sync/harness.ts'

/**
 * Tests lifts and activations of kill switches that overtake each other. The test decides when each transaction
 * begins.
 */
let world: World
let replica: Replica
let gateway: Enrolled
let before = 0

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
  before = await lastEvent()
})
afterAll(() => world.stop())
afterEach(async () => {
  await killSwitchOn(replica.db).set({ ...change(''), active: false, override: true })
  before = await lastEvent()
})

/** Each transaction waits for the gate that was set when it began. */
function gatedDb() {
  let gate: Promise<void> = Promise.resolve()
  const db: Db = {
    ...replica.db,
    async tx(work) {
      await gate
      return replica.db.tx(work)
    },
  }
  return {
    db,
    /** What begins from now on waits until the result is called with what happens then. */
    close() {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      promise.catch(() => undefined)
      gate = promise
      return { open: resolve, fail: () => reject(new Error('the database is away')) }
    },
    release() {
      gate = Promise.resolve()
    },
  }
}

function killSwitchOn(db: Db): KillSwitch {
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const log = pino({ level: 'silent' })
  return createKillSwitch({
    ...{ db, hub: replica.hub, orgId: replica.orgId, clock, log, cancelKilled: async () => undefined },
  })
}

const change = (reason: string, more: Partial<KillChange> = {}): KillChange => ({
  ...{ active: true, reason, source: 'dashboard', by: systemActor('test'), ...more },
})
const LIFTS: ReadonlyArray<readonly [string, Partial<KillChange>]> = [
  ['its source', { active: false }],
  ['an override', { active: false, override: true }],
]
const reasons = () => replica.hub.kill.effective().map(({ reason }) => reason)
async function lastEvent(): Promise<number> {
  const { rows } = await replica.db.query<{ id: number }>(
    'select coalesce(max(id), 0)::int as id from audit_events',
  )
  return rows[0]?.id ?? 0
}
async function events() {
  const { rows } = await replica.db.query<{ type: string; details: Record<string, unknown> }>(
    'select event_type as type, details from audit_events where id > $1 order by id',
    [before],
  )
  return rows.map(({ type, details }) => [
    type.replace('kill_switch.', ''),
    details['reason'],
    details['sources'],
  ])
}

describe.each(LIFTS)('a lift by %s', (_, lift) => {
  test('lifts no kill switch that is activated later, even if that one could be stored first', async () => {
    const { db, close, release } = gatedDb()
    const killSwitch = killSwitchOn(db)
    await killSwitch.set(change('earlier'))
    const stream = await openStream(replica, gateway, { acks: true })
    await stream.next('kill', ({ effective }) => effective.length === 1)
    const gate = close()
    const lifted = killSwitch.set(change('lift', lift))
    release()
    const later = killSwitch.set(change('later'))
    const isAnnounced = ({ entry }: KillAnnouncement) => entry.reason === 'later'
    const first = await stream.next('kill', ({ state }) => state?.announced.some(isAnnounced) === true)
    gate.open()
    await lifted
    expect(await later).toMatchObject({ ok: true, active: true })
    await eventually('it is stored', () => (replica.hub.kill.announcements().length === 0 ? true : null))
    expect(reasons()).toEqual(['later'])
    const after = stream.messages.filter((message) => message.type === 'kill' && message.seq >= first.seq)
    expect(after.filter((message) => message.type === 'kill' && message.effective.length === 0)).toEqual([])
    expect((await events()).map(([type]) => type)).toEqual(['activated', 'deactivated', 'activated'])
    stream.close()
  })

  test('that fails leaves both the earlier kill switch and the later one', async () => {
    const { db, close, release } = gatedDb()
    const killSwitch = killSwitchOn(db)
    await killSwitch.set(change('earlier'))
    const gate = close()
    const lifted = killSwitch.set(change('lift', lift))
    release()
    const later = killSwitch.set(change('later'))
    gate.fail()
    await expect(lifted).rejects.toThrow('away')
    expect((await later).stored).toBeUndefined()
    expect(reasons()).toEqual(['later'])
  })

  test('ends the kill switches that were not stored when it was requested, and the audit names both', async () => {
    const { db, close, release } = gatedDb()
    const killSwitch = killSwitchOn(db)
    const gate = close()
    const activations = [
      killSwitch.set(change('first')),
      killSwitch.set(change('second', { scope: 'agent:other' })),
    ]
    gate.fail()
    for (const activation of activations) expect(await activation).toMatchObject({ stored: false })
    release()
    expect(replica.hub.kill.announcements()).toHaveLength(2)
    const reply = await killSwitch.set(change('lift', lift))
    expect(reply.effective.map(({ scope }) => scope)).toEqual(['agent:other'])
    await eventually('the other is stored', () =>
      replica.hub.kill.announcements().length === 0 ? true : null,
    )
    const seen = await events()
    expect(seen.slice(0, 2)).toEqual([
      ['activated', 'first', undefined],
      ['deactivated', 'lift', ['dashboard']],
    ])
    expect(seen.slice(2)).toEqual([['activated', 'second', undefined]])
    await killSwitch.set(change('lift', { ...lift, scope: 'agent:other' }))
  })
})

test('a lift by one source leaves the kill switch of another that is not stored yet', async () => {
  const { db, close, release } = gatedDb()
  const killSwitch = killSwitchOn(db)
  const gate = close()
  const activations = ['api', 'cli'].map((source) => killSwitch.set(change(source, { source })))
  gate.fail()
  await Promise.all(activations)
  release()
  const reply = await killSwitch.set(change('lift', { active: false, source: 'api' }))
  expect(reply.effective.map(({ source }) => source)).toEqual(['cli'])
  await eventually('stored', () => (replica.hub.kill.announcements().length === 0 ? true : null))
  expect((await events()).map(([type, reason]) => [type, reason])).toEqual([
    ['activated', 'api'],
    ['deactivated', 'lift'],
    ['activated', 'cli'],
  ])
})
