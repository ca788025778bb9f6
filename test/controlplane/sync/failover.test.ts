import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
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

/* Two replicas, and a database that goes back to an earlier state, as a standby that lagged does when it takes over. */
let world: World
let replicas: Replica[]
let gateway: Enrolled
let streams: StreamClient[]
const admin = person({ role: 'admin', email: 'root@example.com' })

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.stop())
beforeEach(async () => {
  replicas = [await world.replica(), await world.replica()]
  gateway = await on(0).enrol('default/local')
  streams = []
  for (const replica of replicas) {
    const stream = await openStream(replica, gateway, { acks: true })
    await stream.next('sections')
    streams.push(stream)
  }
})
afterEach(async () => {
  for (const stream of streams) stream.close()
  for (const { scope } of on(0).hub.kill.effective()) await lift(0, scope)
  for (const replica of replicas) await replica.stop()
})

function on(index: number): Replica {
  const replica = replicas[index]
  if (replica === undefined) throw new Error('no such replica')
  return replica
}
const set = (index: number, active: boolean, scope: string, reason?: string) =>
  on(index).user(admin, 'POST', '/api/dashboard/kill-switch', { active, scope, ...(reason && { reason }) })
const activate = (index: number, scope = 'all', reason = 'incident') => set(index, true, scope, reason)
const lift = (index: number, scope = 'all') => set(index, false, scope)
const scopes = (replica: Replica) => replica.hub.kill.effective().map(({ scope }) => scope)
const bothHave = (...expected: string[]) =>
  eventually(`both replicas have ${expected}`, () =>
    replicas.every((replica) => JSON.stringify(scopes(replica).toSorted()) === JSON.stringify(expected))
      ? true
      : null,
  )
async function lastEvent(): Promise<number> {
  const { rows } = await on(0).db.query<{ id: number }>(
    'select coalesce(max(id), 0)::int as id from audit_events',
  )
  return rows[0]?.id ?? 0
}
async function rowsOf(text: string): Promise<Record<string, unknown>[]> {
  return (await on(0).db.query(text)).rows
}
/** What a standby has that got nothing since this call. */
async function standby() {
  const kills = await rowsOf('select * from kill_switches')
  const [order] = await rowsOf('select * from state_order')
  const event = await lastEvent()
  return {
    /** `epochs`: so many were begun by others meanwhile. */
    async takeOver(epochs = 0) {
      const client = new pg.Client({ connectionString: world.database.adminUrl })
      await client.connect()
      await client.query('begin')
      // No trigger raises the revision.
      await client.query("set local session_replication_role = 'replica'")
      await client.query('delete from kill_switches')
      await client.query(
        'insert into kill_switches select * from json_populate_recordset(null::kill_switches, $1)',
        [JSON.stringify(kills)],
      )
      await client.query('delete from kill_announcements')
      await client.query('delete from audit_events where id > $1', [event])
      await client.query('update state_order set epoch = $1, kill_revision = $2', [
        Number(order?.['epoch']) + epochs,
        order?.['kill_revision'],
      ])
      await client.query('commit')
      await client.end()
    },
  }
}
const epochOf = async () => Number((await rowsOf('select epoch from state_order'))[0]?.['epoch'])
/** Kill messages of a stream from a moment on that stop nothing. */
const releases = ({ messages }: StreamClient, from: number) =>
  messages.slice(from).filter((message) => message.type === 'kill' && message.effective.length === 0)
const storedScopes = async () =>
  (await rowsOf('select scope from kill_switches order by scope')).map(({ scope }) => scope)
const activations = async () =>
  (
    await rowsOf("select details from audit_events where event_type = 'kill_switch.activated' order by id")
  ).map(({ details }) => details as Record<string, unknown>)

test.each([
  ['in the epoch that is known', 0],
  ['in an epoch that another replica has begun', 1],
])('a kill switch that the database lost stays, is stored again and audited, %s', async (_, epochs) => {
  const behind = await standby()
  await activate(0)
  await bothHave('all')
  const before = [await epochOf(), ...streams.map(({ messages }) => messages.length)]
  await behind.takeOver(epochs)
  await eventually('stored again', async () => ((await storedScopes()).length === 1 ? true : null))
  await bothHave('all')
  await eventually('nothing is left to store', () =>
    replicas.every(({ hub }) => hub.kill.announcements().length === 0) ? true : null,
  )
  expect(await epochOf()).toBeGreaterThan(before[0] ?? 0)
  expect(streams.flatMap((stream, index) => releases(stream, before[index + 1] ?? 0))).toEqual([])
  const [restored, ...others] = (await activations()).slice(-1)
  expect(restored).toMatchObject({ scope: 'all', source: 'dashboard', reason: 'incident' })
  expect(String(restored?.['activated_by'])).toMatch(/lost/)
  expect(others).toEqual([])
  expect((await lift(1)).status).toBe(200)
  await bothHave()
  await activate(1, 'agent:x')
  await bothHave('agent:x')
})

test('of several kill switches those that were lost come back, each with its source and reason', async () => {
  await activate(0, 'agent:kept')
  await bothHave('agent:kept')
  const behind = await standby()
  await activate(1, 'agent:a', 'first')
  await activate(0, 'connector:b', 'second')
  await on(0).command(gateway, 'kill-switch', { active: true, scope: 'agent:kept', reason: 'third' })
  await bothHave('agent:a', 'agent:kept', 'agent:kept', 'connector:b')
  await behind.takeOver()
  await bothHave('agent:a', 'agent:kept', 'agent:kept', 'connector:b')
  await eventually('stored again', async () => ((await storedScopes()).length === 4 ? true : null))
  expect(await rowsOf('select scope, source, reason from kill_switches order by reason')).toEqual([
    { scope: 'agent:a', source: 'dashboard', reason: 'first' },
    { scope: 'agent:kept', source: 'dashboard', reason: 'incident' },
    { scope: 'connector:b', source: 'dashboard', reason: 'second' },
    { scope: 'agent:kept', source: 'gateway:default/local', reason: 'third' },
  ])
})

test('a lift that the database lost is lost: the kill switch counts again until it is lifted', async () => {
  await activate(0)
  await bothHave('all')
  const behind = await standby()
  await lift(0)
  await bothHave()
  await behind.takeOver()
  await bothHave('all')
  await lift(1)
  await bothHave()
})

test('what was lifted in the new epoch is not set again', async () => {
  await activate(0)
  await activate(0, 'agent:x')
  await bothHave('agent:x', 'all')
  // Another replica begins the epoch and lifts before these two read again.
  await on(0).db.tx(async (q) => {
    await q.query('update state_order set epoch = epoch + 1, kill_revision = 1')
    await q.query("delete from kill_switches where scope = 'all'")
    await q.query(
      `insert into audit_events (event_type, org_id, details) values ('kill_switch.deactivated', $1,
       '{"scope":"all","sources":["dashboard"]}')`,
      [on(0).orgId],
    )
  })
  await bothHave('agent:x')
  const [{ epoch } = { epoch: 0 }] = await rowsOf('select epoch from state_order')
  await eventually('both have read it', () =>
    streams.every(({ messages }) =>
      messages.some((message) => message.type === 'kill' && message.state?.order.epoch === Number(epoch)),
    )
      ? true
      : null,
  )
  expect(await storedScopes()).toEqual(['agent:x'])
})

test('a kill switch that was lifted, set again and lost comes back', async () => {
  await activate(0)
  await lift(0)
  await bothHave()
  const behind = await standby()
  await activate(0, 'all', 'again')
  await bothHave('all')
  await behind.takeOver()
  await eventually('stored again', async () => ((await storedScopes()).length === 1 ? true : null))
  await bothHave('all')
  expect(on(0).hub.kill.effective()[0]?.reason).toBe('again')
})
