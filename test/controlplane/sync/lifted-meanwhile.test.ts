import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { systemActor } from '../../../controlplane/features/audit/actor.ts'
import { createKillSwitch } from '../../../controlplane/features/kill-switch/service.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { eventually } from '../../support/eventually.ts'
import { openStream } from './harness.ts'
import { useTwoReplicas } from './two-replicas.ts'

/* Replica B announces a kill switch that it cannot store; meanwhile the same scope and source is lifted on A. */
const both = useTwoReplicas()
afterEach(async () => {
  for (const { scope } of both.a.hub.kill.effective()) await set(false, scope)
})

const set = (active: boolean, scope: string) => both.set(active, { scope })
const stored = async () => (await both.a.db.query('select scope, source, reason from kill_switches')).rows
const eventsOf = async (reason: string) => {
  const { rows } = await both.a.db.query<{ type: string; details: Record<string, unknown> }>(
    "select event_type as type, details from audit_events where details->>'reason' = $1 order by id",
    [reason],
  )
  return rows
}
let count = 0
const announced = (ageMs: number, changes: Partial<KillEntry> = {}): KillEntry => ({
  ...{ scope: 'all', source: 'dashboard', reason: `on B ${count++}` },
  since: new Date(Date.now() - ageMs).toISOString(),
  ...changes,
})

describe('a kill switch that a gateway brings from the replica that announced it', () => {
  async function bring(entry: KillEntry) {
    const { announcement } = both.b.hub.kill.announce(entry)
    both.b.hub.kill.retract([announcement.id])
    const gateway = await both.a.enrol('default/moved')
    const stream = await openStream(both.a, gateway, { processId: 'proc_moved' })
    await stream.next('sections')
    const give = () =>
      both.a.hub.publish({
        ...{ process_id: 'proc_moved', gateway_id: gateway.id, kind: 'ack' },
        body: { announced: [announcement], applied_at: new Date().toISOString() },
      })
    return { id: announcement.id, stream, give }
  }

  test.each([
    ['all', 'all'],
    ['agent:Bot', 'agent:bot'],
  ])(
    'is not set again when it was lifted in the meantime (%s), and is audited once as lifted',
    async (lifted, scope) => {
      await set(true, lifted)
      await set(false, lifted)
      const entry = announced(60_000, { scope })
      const { id, stream, give } = await bring(entry)
      await give()
      await stream.next('kill', ({ state }) => state?.settled.includes(id) === true)
      await give()
      await stream.next('kill', ({ state }) => state?.settled.includes(id) === true)
      expect(both.a.hub.kill.effective()).toEqual([])
      expect(await stored()).toEqual([])
      const stops = stream.messages.filter(
        (message) => message.type === 'kill' && message.effective.length > 0,
      )
      expect(stops).toEqual([])
      await eventually('audited', async () => ((await eventsOf(entry.reason)).length > 0 ? true : null))
      expect(await eventsOf(entry.reason)).toMatchObject([
        { type: 'kill_switch.activated', details: { scope, source: 'dashboard', lifted: true } },
      ])
      stream.close()
    },
  )

  test.each<
    [string, { readonly ageMs?: number; readonly changes?: Partial<KillEntry>; readonly lift?: string }]
  >([
    ['another source was lifted', { changes: { source: 'cli' } }],
    ['another scope was lifted', { changes: { scope: 'agent:other' } }],
    ['it was set after the lift', { ageMs: -1_000 }],
    ['the clocks of replica and database do not say which was first', { ageMs: 3_000 }],
    ['the lift released nothing', { changes: { scope: 'agent:never' }, lift: 'agent:never' }],
  ])('is stored when %s', async (_, { ageMs = 60_000, changes = {}, lift = 'all' }) => {
    if (lift === 'all') await set(true, lift)
    await set(false, lift)
    const entry = announced(ageMs, changes)
    const { stream, give } = await bring(entry)
    await give()
    await eventually('stored', async () => ((await stored()).length === 1 ? true : null))
    expect(await stored()).toMatchObject([{ scope: entry.scope, source: entry.source, reason: entry.reason }])
    stream.close()
  })
})

test('the replica that announced it does not set it again either, once its database is back', async () => {
  let isAway = true
  const db: Db = {
    ...both.b.db,
    tx: (work) => (isAway ? Promise.reject(new Error('away')) : both.b.db.tx(work)),
  }
  const reason = 'on B, lifted on A'
  const killSwitch = createKillSwitch({
    ...{
      db,
      hub: both.b.hub,
      orgId: both.b.orgId,
      log: pino({ level: 'silent' }),
      cancelKilled: async () => undefined,
    },
    clock: { nowMs: () => Date.now() - 60_000, monotonicMs: () => performance.now() },
  })
  const change = { active: true, scope: 'all', source: 'dashboard', reason, by: systemActor('test') }
  expect(await killSwitch.set(change)).toMatchObject({ stored: false })
  await set(true, 'all')
  expect((await set(false, 'all')).body['released']).toEqual(['dashboard'])
  isAway = false
  await eventually('settled', () => (both.b.hub.kill.announcements().length === 0 ? true : null))
  expect(await stored()).toEqual([])
  await eventually('nothing is in force', () =>
    [both.a, both.b].every(({ hub }) => hub.kill.effective().length === 0) ? true : null,
  )
  expect(await eventsOf(reason)).toMatchObject([{ type: 'kill_switch.activated', details: { lifted: true } }])
})

test('the kill status shows which kill switches are not stored yet', async () => {
  await set(true, 'agent:stored')
  const { announcement } = both.a.hub.kill.announce(announced(0, { scope: 'agent:announced' }))
  const { body } = await both.a.user(both.admin, 'GET', '/api/dashboard/kill-switch')
  expect(body['effective']).toEqual([
    expect.objectContaining({ scope: 'agent:announced', stored: false }),
    expect.not.objectContaining({ stored: expect.anything() }),
  ])
  both.a.hub.kill.retract([announcement.id])
})
