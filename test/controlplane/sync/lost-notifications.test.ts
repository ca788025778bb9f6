import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Enrolled, openStream, type Replica, startWorld, type World } from './harness.ts'

/*
 * What another replica has changed while its notification never came: written behind the back of this one. Looking
 * every two seconds finds it.
 */
let world: World
let replica: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world?.stop())

test('a kill switch is read and sent to the gateways, and so is its lift', async () => {
  const stream = await openStream(replica, gateway)
  await stream.next('sections')
  const values = [replica.orgId]
  await replica.db.query(
    `insert into kill_switches (org_id, scope, source, reason, activated_by) values ($1, 'all', 'api', 'silent', 'x')`,
    values,
  )
  const kill = await stream.next('kill', (message) => message.effective.length > 0)
  expect(kill.effective).toMatchObject([{ scope: 'all', source: 'api', reason: 'silent' }])
  await replica.db.query('delete from kill_switches where org_id = $1', values)
  await stream.next('kill', (message) => message.seq > kill.seq && message.effective.length === 0)
  stream.close()
})

test('a change of the configuration is found and announced to the gateways', async () => {
  const stream = await openStream(replica, gateway)
  const { version, sections } = await stream.next('sections')
  await replica.db.tx(async (q) => {
    await q.query(
      `update gateways set spec = jsonb_set(spec, '{enforcementLevel}', '"monitor"') where id = $1`,
      [gateway.id],
    )
    await q.query('update config_version set version = version + 1')
  })
  const next = await stream.next('sections', (message) => message.version > version)
  expect(next.sections['gateway']).not.toBe(sections['gateway'])
  stream.close()
})

test('the answer to a held request is read and sent to the waiting gateway', async () => {
  const stream = await openStream(replica, gateway)
  await stream.next('sections')
  const [id] = ['apv_silent']
  await replica.db.query(
    `insert into approvals (id, org_id, kind, agent, gateway_id, card, expires_at, binding)
     values ($1, $2, 'hold', 'bot', $3, '{}', now() + interval '5 minutes', 'b1')`,
    [id, replica.orgId, gateway.id],
  )
  await replica.db.query(
    `update approvals set status = 'denied', responded_by = 'ada@example.com', via = 'dashboard',
       responded_at = clock_timestamp() where id = $1`,
    [id],
  )
  const { verdict } = await stream.next('verdict', (message) => message.verdict.id === id)
  expect(verdict).toMatchObject({ status: 'denied', by: 'ada@example.com' })
  stream.close()
})
