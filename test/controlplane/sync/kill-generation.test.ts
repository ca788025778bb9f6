import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { openStream, person, type Replica, startWorld, type World } from './harness.ts'

/* Acknowledgements of a gateway at another replica, for a kill switch that was lifted and set again. */
let world: World
let a: Replica
let b: Replica
const admin = person({ role: 'admin', email: 'root@example.com' })

beforeAll(async () => {
  world = await startWorld()
  a = await world.replica()
  b = await world.replica()
})
afterAll(() => world?.stop())

const set = (active: boolean, body: object = {}) =>
  a.user(admin, 'POST', '/api/dashboard/kill-switch', { active, ...(active && { reason: 'drill' }), ...body })
const acksOf = ({ body }: { readonly body: Record<string, unknown> }) =>
  body['acknowledged'] as { acked: number; total: number }

test.each([
  ['everything', {}],
  ['one gateway', { scope: 'gateway:edge' }],
])('an acknowledgement of the earlier kill switch of %s is none of the later one', async (_, body) => {
  const gateway = await b.enrol('default/edge')
  const stream = await openStream(b, gateway, { processId: 'proc_edge' })
  await stream.next('manifest')
  await eventually('it is known', () => (a.hub.liveOf(gateway.id)?.processes === 1 ? true : null))
  const stopped = async (since: number) =>
    stream.next('kill', ({ seq, effective }) => seq > since && effective.length === 1)
  await set(true, body)
  const first = await stopped(0)
  const ack = { kill_seq: first.seq, applied_at: new Date().toISOString() }
  await b.gateway(gateway, 'POST', '/api/gateway/ack', ack, 'proc_edge')
  await eventually('acknowledged', async () => (acksOf(await set(true, body)).acked === 1 ? true : null))
  await set(false, body)
  await stream.next('kill', ({ seq, effective }) => seq > first.seq && effective.length === 0)
  // From here on the gateway acknowledges nothing.
  expect(acksOf(await set(true, body))).toMatchObject({ acked: 0, total: 1 })
  await set(false, body)
  stream.close()
  await eventually('it left', () => (a.hub.liveOf(gateway.id) === null ? true : null))
  await a.db.query('truncate gateway_processes')
})
