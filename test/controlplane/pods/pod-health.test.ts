import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { at } from '../routes/start.ts'
import { type PodWorld, startPodWorld } from './pod-world.ts'

let world: PodWorld
beforeAll(async () => {
  world = await startPodWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

/** Status of `/api/health` and the outcome of its check of the gateway. */
async function health(): Promise<readonly [number, unknown]> {
  const { status, body } = await world.plane.call('GET', '/api/health')
  return [status, at(body, 'checks', 'gateway', 'error') ?? at(body, 'checks', 'gateway', 'status')]
}

test('a Gateway with governed pods fails the check while no sidecar is connected, and the probes pass', async () => {
  await world.apply('Gateway', 'team', 'gateway', {})
  expect(await health(), 'a Gateway without pods has no process that could connect').toEqual([200, 'ok'])
  const pod = world.pod()
  await world.report({ pod: world.pod({ name: 'stray-0' }), gateway: 'team/none' })
  expect(await health(), 'the Gateway of the pod is not registered').toEqual([200, 'ok'])

  await world.report({ pod })
  expect(await health()).toEqual([503, 'unavailable'])
  for (const probe of ['/livez', '/readyz'])
    expect((await world.plane.call('GET', probe)).status, probe).toBe(200)

  const sidecar = await world.sidecar(pod)
  await eventually('connected', async () => (await health())[0] === 200 || null)
  await sidecar[Symbol.asyncDispose]()
  await eventually('disconnected', async () => (await health())[0] === 503 || null)
  const age = (minutes: number) =>
    world.sql(`update pod_identities set reported_at = clock_timestamp() - interval '2 hours',
      token_seen_at = clock_timestamp() - interval '${minutes} minutes'`)
  await age(59)
  expect(await health(), 'the pod has presented a new token in the last hour').toEqual([503, 'unavailable'])
  await age(61)
  expect(await health(), 'the pod has completed, but still exists').toEqual([200, 'ok'])
  const next = world.pod({ name: 'next-0' })
  await world.report({ pod: next })
  expect(await health(), 'another pod starts').toEqual([503, 'unavailable'])
  await world.report({ pod: next, deleted: true })
  await age(0)
  expect((await health())[0]).toBe(503)
  await world.report({ pod, deleted: true })
  expect(await health(), 'no pod is left').toEqual([200, 'ok'])
})
