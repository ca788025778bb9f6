import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PodWorld, startPodWorld } from './pod-world.ts'

let world: PodWorld
beforeAll(async () => {
  world = await startPodWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())
beforeEach(() => {
  world.kube.status = null
})

const OPERATOR = {
  ...{ namespace: 'chaperone-system', serviceAccount: 'chaperone-operator' },
  ...{ name: 'chaperone-operator-1', uid: 'uid-operator' },
}
const ask = (token: string) =>
  world.plane.call('GET', '/api/operator/state', undefined, { authorization: `Bearer ${token}` })

describe('the operator of a cluster', () => {
  test('is known by the projected token of its ServiceAccount; the cluster is asked once', async () => {
    const token = world.kube.tokenOf(OPERATOR)
    for (let times = 0; times < 3; times++) expect((await ask(token)).status).toBe(200)
    expect(world.kube.asked.filter((one) => one === token)).toHaveLength(1)
  })

  test('continues with its own token where it has one', async () => {
    expect((await ask('the-operator-token')).status).toBe(200)
  })

  test.each([
    ['the same name in another namespace', { namespace: 'team' }],
    ['another ServiceAccount of its namespace', { serviceAccount: 'default' }],
  ])('is not %s: 401', async (_what, changes) => {
    const token = world.kube.tokenOf({ ...OPERATOR, ...changes })
    const answer = await ask(token)
    expect([answer.status, answer.body['error']]).toEqual([401, 'Unauthorized'])
    expect(answer.body['message']).toContain("or the operator's projected ServiceAccount token")
  })

  test('is refused with a token for the cluster itself, and with one that the cluster does not confirm', async () => {
    expect((await ask(world.kube.tokenOf(OPERATOR, 'https://kubernetes.default.svc'))).status).toBe(401)
    const gone = world.kube.tokenOf(OPERATOR)
    world.kube.delete(gone)
    expect((await ask(gone)).status).toBe(401)
  })

  test('is not noise, about which the cluster is not even asked', async () => {
    const before = world.kube.asked.length
    for (const noise of ['x', 'a.b.c', `svc_test_${'a'.repeat(32)}`])
      expect((await ask(noise)).status).toBe(401)
    expect(world.kube.asked.length).toBe(before)
  })

  test('is answered 503 with Retry-After while the API server does not respond', async () => {
    world.kube.status = 500
    const answer = await ask(world.kube.tokenOf(OPERATOR))
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).not.toBeNull()
  })

  test('has no other identity by that token: neither a user nor an agent nor a gateway', async () => {
    const headers = { authorization: `Bearer ${world.kube.tokenOf(OPERATOR)}`, 'x-process-id': 'proc_x' }
    const claims = {
      'x-chaperone-gateway': 'team/gateway',
      'x-chaperone-agent': 'team/bot',
      'x-chaperone-pod': OPERATOR.uid,
    }
    expect((await world.plane.call('GET', '/api/dashboard/agents', undefined, headers)).status).toBe(401)
    expect((await world.plane.call('GET', '/api/v1/policies', undefined, headers)).status).toBe(401)
    const gateway = await world.plane.call('POST', '/api/gateway/status', {}, { ...headers, ...claims })
    // A pod without a sidecar: unknown for 30 s, then refused.
    expect(gateway.status).toBe(503)
    await world.sql(`update unknown_pods set first_seen_at = first_seen_at - interval '31 seconds'`)
    const later = await world.plane.call('POST', '/api/gateway/status', {}, { ...headers, ...claims })
    expect(later.status).toBe(403)
  })
})
