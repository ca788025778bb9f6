import { describe, expect, test } from 'vitest'
import { readSandbox } from '../../../core/inject/sandbox.ts'
import type { KubeCall } from '../../../kube/transport.ts'
import type { RunningPod } from '../../../operator/guard/judge-pod.ts'
import { sweep } from '../../../operator/guard/watchdog.ts'
import { createPoolMembers } from '../../../operator/inject/pool-members.ts'
import type { EventNote, EventTarget } from '../../../operator/kube/events.ts'

const PROXY = { name: 'chaperone-proxy', image: 'chaperone:1' }
const GOVERNED = [{ name: 'chaperone-rules', image: 'chaperone:1' }, PROXY]

function pod(name: string, more: Partial<RunningPod['metadata']> = {}, initContainers: object[] = []) {
  const ownerReferences = [
    { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid: `of-${name}`, controller: true },
  ]
  return {
    metadata: { name, namespace: 'team', ownerReferences, ...more },
    spec: { containers: [], initContainers },
  } as unknown as RunningPod
}

function sandboxOf(name: string) {
  const kind = name.startsWith('claimed') ? 'SandboxClaim' : 'SandboxWarmPool'
  const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind, name: 'warm', uid: 'w' }
  const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'research' }
  return readSandbox({ uid: `of-${name}`, annotations, ownerReferences: [{ ...owner, controller: true }] })
}

/** Sweeps once and evicts. Returns what was found, recorded, deleted and evicted. */
async function sweepOver(pods: readonly RunningPod[], gateway: string | null) {
  const calls: KubeCall[] = []
  const events: (EventNote & { readonly target: EventTarget })[] = []
  const evicted: string[] = []
  const members = createPoolMembers({
    client: {
      call: async <T>(call: KubeCall) => {
        calls.push(call)
        return {} as T
      },
      open: () => Promise.reject(new Error('no watch')),
      [Symbol.dispose]: () => undefined,
    },
    recorder: { record: async (target, event) => void events.push({ ...event, target }) },
    sandboxes: {
      sandboxOf: (_namespace, name) => sandboxOf(name),
      templateOf: () => ({ agent: null, gateway }),
      versionOf: () => '7',
    },
  })
  const { bypassing, evictions } = sweep(
    {
      pods: () => pods.map(members.expected),
      namespaceLabels: () => ({}),
      report: (each) => members.report(each),
      async evict(each) {
        if (!(await members.replace(each))) evicted.push(each.metadata.name ?? '')
      },
    },
    { ownNamespace: 'chaperone-system', proxyImages: ['chaperone:1'], evicts: true },
  )
  expect(await evictions).toEqual([])
  return { bypassing, events, evicted, calls }
}

describe('members of a warm pool that were there before their template named a Gateway', () => {
  test('count for the Gateway, mark their pool, and are replaced until a claim has them', async () => {
    const { bypassing, events, evicted, calls } = await sweepOver([pod('warm-1'), pod('claimed-1')], 'main')
    expect([...bypassing.keys()]).toEqual(['team/main'])
    expect(bypassing.get('team/main')).toMatchObject([{ name: 'team/warm-1' }, { name: 'team/claimed-1' }])
    expect(events).toMatchObject([
      {
        ...{ type: 'Warning', reason: 'PoolNotGoverned' },
        target: { kind: 'SandboxWarmPool', metadata: { name: 'warm', uid: 'w', namespace: 'team' } },
      },
    ])
    expect(events[0]?.note).toContain('Set spec.replicas to 0 and then back')
    expect(calls).toEqual([
      {
        method: 'DELETE',
        path: '/apis/agents.x-k8s.io/v1beta1/namespaces/team/sandboxes/warm-1',
        body: {
          ...{ apiVersion: 'v1', kind: 'DeleteOptions' },
          preconditions: { uid: 'of-warm-1', resourceVersion: '7' },
        },
      },
    ])
    expect(evicted).toEqual([])
  })

  test('are no finding with a sidecar, or while the template names no Gateway', async () => {
    const annotations = { 'chaperone.dev/gateway': 'main' }
    for (const found of [
      await sweepOver([pod('warm-1', { annotations }, GOVERNED)], 'main'),
      await sweepOver([pod('warm-1', {}, GOVERNED)], 'main'),
      await sweepOver([pod('warm-1')], null),
    ])
      expect(found).toEqual({ bypassing: new Map(), events: [], evicted: [], calls: [] })
  })

  test('are evicted if the Sandbox itself names the Gateway', async () => {
    const annotations = { 'chaperone.dev/gateway': 'main' }
    const { evicted, calls } = await sweepOver([pod('claimed-1', { annotations })], 'main')
    expect(evicted).toEqual(['claimed-1'])
    expect(calls).toEqual([])
  })
})
