import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { openStream } from './harness.ts'
import { useTwoReplicas } from './two-replicas.ts'

/* Acknowledgements of a gateway at another replica, for a kill switch that was lifted and set again. */
const both = useTwoReplicas()

const { set } = both
const acksOf = ({ body }: { readonly body: Record<string, unknown> }) =>
  body['acknowledged'] as { acked: number; total: number }

test.each([
  ['everything', {}],
  ['one gateway', { scope: 'gateway:edge' }],
])('an acknowledgement of the earlier kill switch of %s is none of the later one', async (_, body) => {
  const gateway = await both.b.enrol('default/edge')
  const stream = await openStream(both.b, gateway, { processId: 'proc_edge' })
  await stream.next('sections')
  await eventually('it is known', () => (both.a.hub.liveOf(gateway.id)?.processes === 1 ? true : null))
  const stopped = async (since: number) =>
    stream.next('kill', ({ seq, effective }) => seq > since && effective.length === 1)
  await set(true, body)
  const first = await stopped(0)
  const ack = { kill_seq: first.seq, applied_at: new Date().toISOString() }
  await both.b.gateway(gateway, 'POST', '/api/gateway/ack', ack, 'proc_edge')
  await eventually('acknowledged', async () => (acksOf(await set(true, body)).acked === 1 ? true : null))
  await set(false, body)
  await stream.next('kill', ({ seq, effective }) => seq > first.seq && effective.length === 0)
  // From here on the gateway acknowledges nothing.
  expect(acksOf(await set(true, body))).toMatchObject({ acked: 0, total: 1 })
  await set(false, body)
  stream.close()
  await eventually('it left', () => (both.a.hub.liveOf(gateway.id) === null ? true : null))
  await both.a.db.query('truncate gateway_processes')
})
