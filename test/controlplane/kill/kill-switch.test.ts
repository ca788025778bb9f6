import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Enrolled, openStream, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

const admin = person({ role: 'admin', email: 'root@example.com' })
const set = (body: object, who = admin, on = replica) =>
  on.user(who, 'POST', '/api/dashboard/kill-switch', body)
const audits = async (type: string) => {
  const { rows } = await replica.db.query<{ details: Record<string, unknown> }>(
    'select details from audit_events where event_type = $1 order by id',
    [type],
  )
  return rows.map((row) => row.details)
}

describe('a kill switch', () => {
  test('reaches connected gateways, which acknowledge: 2 of 2; and is lifted again', async () => {
    const streams = [
      await openStream(replica, gateway, { acks: true }),
      await openStream(replica, gateway, { acks: true }),
    ]
    for (const stream of streams) await stream.next('sections')
    const reply = await set({ active: true, reason: 'drill' })
    expect(reply.body).toMatchObject({
      ok: true,
      active: true,
      scope: 'all',
      acknowledged: { acked: 2, total: 2 },
    })
    const kill = await streams[0]!.next('kill', (m) => m.effective.length > 0)
    expect(kill.effective[0]).toMatchObject({ scope: 'all', source: 'dashboard', reason: 'drill' })
    expect(await audits('kill_switch.activated')).toMatchObject([
      { scope: 'all', activated_by: 'root@example.com', reason: 'drill' },
    ])
    const lifted = await set({ active: false })
    expect(lifted.body).toMatchObject({ active: false, effective: [], acknowledged: { acked: 2, total: 2 } })
    await streams[1]!.next('kill', (m) => m.seq > kill.seq && m.effective.length === 0)
    for (const stream of streams) stream.close()
    await eventually('both left', () => (replica.hub.liveOf(gateway.id) === null ? true : null))
  })

  test('says 1 of 2 when a gateway that was there a moment ago is away', async () => {
    // Processes of other tests would count until the end of their lease.
    const own = await startWorld()
    try {
      const alone = await own.replica()
      const away = await alone.enrol('default/away')
      const home = await alone.enrol('default/home')
      const lost = await openStream(alone, away, { acks: true })
      const stream = await openStream(alone, home, { acks: true })
      await stream.next('sections')
      const first = await set({ active: true, scope: 'gateway:home' }, admin, alone)
      expect(first.body['acknowledged']).toMatchObject({ acked: 2, total: 2 })
      lost.close()
      await eventually('it left', () => (alone.hub.liveOf(away.id) === null ? true : null))
      const second = await set({ active: true, scope: 'gateway:home', reason: 'x' }, admin, alone)
      expect(second.body['acknowledged']).toMatchObject({ acked: 1, total: 2 })
      const back = await openStream(alone, away, { acks: true })
      expect((await back.next('kill')).effective).toMatchObject([{ scope: 'gateway:home' }])
      back.close()
      stream.close()
    } finally {
      await own.stop()
    }
  })

  test('of a caller who could not be checked is audited as such, also when it is stored later', async () => {
    const unchecked = person({ ...admin, userId: 'usr_unchecked', restriction: 'unchecked' })
    await set({ active: true, scope: 'gateway:local', reason: 'checked' })
    await set({ active: true, scope: 'gateway:local', reason: 'unchecked' }, unchecked)
    expect((await audits('kill_switch.activated')).slice(-2)).toEqual([
      expect.not.objectContaining({ checked: expect.anything() }),
      expect.objectContaining({ reason: 'unchecked', checked: false, activated_by: 'root@example.com' }),
    ])
    await replica.db.query('alter table kill_switches rename to kill_switches_away')
    try {
      const { body } = await set({ active: true, scope: 'gateway:local', reason: 'later' }, unchecked)
      expect(body['stored']).toBe(false)
    } finally {
      await replica.db.query('alter table kill_switches_away rename to kill_switches')
    }
    const last = await eventually('it is stored', async () => {
      const event = (await audits('kill_switch.activated')).at(-1)
      return event?.['reason'] === 'later' ? event : null
    })
    expect(last).toMatchObject({ checked: false })
    expect((await set({ active: false, scope: 'gateway:local' }, unchecked)).status).toBe(503)
    await set({ active: false, scope: 'gateway:local' })
  })

  test('is not held up by gateways that never acknowledge', async () => {
    const deaf = await openStream(replica, gateway)
    await deaf.next('sections')
    const { body } = await set({ active: true, scope: 'gateway:local' })
    const { acked, total } = body['acknowledged'] as { acked: number; total: number }
    expect(acked).toBeLessThan(total)
    await set({ active: false, scope: 'gateway:local' })
    deaf.close()
  })

  test('goes out before and without the database, says that it is not stored, and is stored later', async () => {
    const stream = await openStream(replica, gateway, { acks: true })
    await stream.next('sections')
    await replica.db.query('alter table kill_switches rename to kill_switches_away')
    try {
      const { status, body } = await set({ active: true, reason: 'database is gone' })
      expect(status).toBe(200)
      expect(body['warning']).toMatch(/is not stored yet/)
      expect((body['acknowledged'] as { acked: number }).acked).toBeGreaterThan(0)
      await stream.next('kill', (m) => m.effective.some((entry) => entry.reason === 'database is gone'))
    } finally {
      await replica.db.query('alter table kill_switches_away rename to kill_switches')
    }
    await eventually('it is stored', async () => {
      const { rowCount } = await replica.db.query(
        "select 1 from kill_switches where reason = 'database is gone'",
      )
      return rowCount === 1 ? true : null
    })
    expect(replica.hub.kill.effective()).toHaveLength(1)
    await set({ active: false })
    expect(replica.hub.kill.effective()).toEqual([])
    stream.close()
  })

  test('of one replica binds the gateways of another', async () => {
    const second = await world.replica()
    const stream = await openStream(second, gateway)
    await set({ active: true, scope: 'agent:builder', reason: 'elsewhere' })
    const kill = await stream.next('kill', (m) => m.effective.length > 0)
    expect(kill.effective[0]).toMatchObject({ scope: 'agent:builder', reason: 'elsewhere' })
    await set({ active: false, scope: 'agent:builder' })
    await stream.next('kill', (m) => m.seq > kill.seq && m.effective.length === 0)
    stream.close()
    await second.stop()
  })
})

describe('sources are latched', () => {
  test('a gateway lifts only what it latched itself; an admin overrides, and the audit names the sources', async () => {
    await set({ active: true, reason: 'by the dashboard' })
    const own = await replica.command(gateway, 'kill-switch', { active: true, reason: 'by the gateway' })
    expect(own.body).toMatchObject({ ok: true, active: true, scope: 'all' })
    expect(own.body['effective']).toMatchObject([
      { source: 'dashboard' },
      { source: 'gateway:default/local' },
    ])
    const lifted = await replica.command(gateway, 'kill-switch', { active: false })
    expect(lifted.body['effective']).toMatchObject([{ source: 'dashboard' }])
    await replica.command(gateway, 'kill-switch', { active: true, reason: 'again' })
    const override = await set({ active: false })
    expect(override.body['effective']).toEqual([])
    const last = (await audits('kill_switch.deactivated')).at(-1)
    expect(last).toMatchObject({ scope: 'all', override: true, deactivated_by: 'root@example.com' })
    expect(last?.['sources']).toEqual(expect.arrayContaining(['dashboard', 'gateway:default/local']))
  })

  test('a member may activate but not lift', async () => {
    const member = person()
    expect((await set({ active: true, scope: 'agent:m' }, member)).status).toBe(200)
    const reply = await set({ active: false, scope: 'agent:m' }, member)
    expect(reply.status).toBe(403)
    expect(reply.body).toMatchObject({ required_role: 'admin', your_role: 'member' })
    expect(replica.hub.kill.effective()).toHaveLength(1)
    await set({ active: false, scope: 'agent:m' })
  })

  test.each(['connector:', 'team:x', 'a b', 'agent: '])(
    'the scope %j is refused and activates nothing',
    async (scope) => {
      const reply = await set({ active: true, scope })
      expect(reply.status).toBe(400)
      expect(reply.body['details']).toContain('all, connector:NAME, agent:NAME, gateway:NAME')
      expect(replica.hub.kill.effective()).toEqual([])
    },
  )

  test('the kill switch in a Gateway manifest is sent to that gateway only', async () => {
    const resource = (active: boolean) => ({
      ...{ uid: 'u1', generation: active ? 1 : 2, source: 'file', managed_by: 'kill.yaml' },
      resource: {
        ...{
          apiVersion: 'chaperone.dev/v1alpha1',
          kind: 'Gateway',
          metadata: { name: 'tenant', namespace: 'team' },
        },
        spec: { killSwitch: { active, reason: 'tenant' } },
      },
    })
    const put = (active: boolean) =>
      replica.operator('PUT', '/api/operator/objects/Gateway/team/tenant', resource(active))
    expect((await put(false)).body).toMatchObject({ accepted: true })
    const tenant = await replica.enrol('team/tenant')
    const own = await openStream(replica, tenant)
    const other = await openStream(replica, gateway)
    await put(true)
    const kill = await own.next('kill', (m) => m.effective.length > 0)
    expect(kill.effective).toMatchObject([{ scope: 'gateway:team/tenant', source: 'manifest:team/tenant' }])
    await other.next('sections')
    expect(other.messages.filter((m) => m.type === 'kill' && m.effective.length > 0)).toEqual([])
    await put(false)
    await own.next('kill', (m) => m.seq > kill.seq && m.effective.length === 0)
    own.close()
    other.close()
  })
})
