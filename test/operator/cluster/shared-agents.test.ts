import { describe, expect, test } from 'vitest'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { PushReply } from '../../../core/wire/operator/operator.ts'
import type { CustomResource } from '../../../operator/cluster/custom-resources.ts'
import { governedPod } from '../../../operator/cluster/pods/governed-pods.ts'
import { createPodIndex } from '../../../operator/cluster/pods/pod-index.ts'
import { planStatus } from '../../../operator/status/plan-status.ts'
import { reviewPod } from '../../../operator/webhook/review-pod.ts'
import { gatewayLookup, INJECT_OPTIONS, NO_RUNTIMES, NO_SANDBOXES } from '../../support/golden-pods.ts'

type Shape = {
  readonly gateway?: string
  readonly agent?: string
  readonly owner?: { readonly kind: string; readonly name: string }
  readonly hash?: string
  readonly phase?: string
  readonly isLeaving?: boolean
}

/** As the API server has it after the injector. */
function stored(name: string, shape: Shape = {}) {
  const { gateway = 'platform/shared', agent = 'triage', owner, hash, phase = 'Running', isLeaving } = shape
  return governedPod({
    metadata: {
      ...{ namespace: 'team', name, uid: name, resourceVersion: '1' },
      labels: { ...(hash !== undefined && { 'pod-template-hash': hash }) },
      annotations: {
        'chaperone.dev/agent': agent,
        'chaperone.dev/injected': JSON.stringify({ gateway, agent }),
      },
      ...(owner && { ownerReferences: [{ apiVersion: 'apps/v1', uid: 'o', controller: true, ...owner }] }),
      ...(isLeaving === true && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: { phase },
  } as never)
}

function indexOf(pods: readonly ReturnType<typeof stored>[]) {
  const index = createPodIndex()
  for (const pod of pods) index.set(`team/${pod.metadata.name}`, pod)
  return index
}

/** Reviews a pod of `team/main` with the agent name `triage`, while other pods run. */
function asked(running: ReturnType<typeof stored>[], metadata: object = {}) {
  const refusals: string[] = []
  const answer = reviewPod(
    {
      ...{ uid: 'u', namespace: 'team', operation: 'CREATE', dryRun: false },
      resource: { group: '', version: 'v1', resource: 'pods' },
      object: {
        metadata: { name: 'triage', annotations: { 'chaperone.dev/gateway': 'main' }, ...metadata },
        spec: { containers: [{ name: 'agent', image: 'node:24' }] },
      },
    },
    false,
    {
      gateways: gatewayLookup(),
      namespaceLabels: () => ({}),
      agentElsewhere: indexOf(running).agentElsewhere,
      sandboxes: NO_SANDBOXES,
      runtimes: NO_RUNTIMES,
      settings: INJECT_OPTIONS,
      uids: { fresh: () => 1_950_000_000, isIssued: () => false },
      onRefused: (_owner, message) => refusals.push(message),
    },
  )
  return { answer, refusals }
}

describe('a pod with the agent name of a pod under another Gateway', () => {
  test('is refused with the annotation, the other Gateway and its pod', () => {
    const { answer } = asked([stored('other')])
    expect(answer.allowed).toBe(false)
    expect(answer.refused?.message).toMatch(
      /metadata\.annotations\[chaperone\.dev\/agent\]: agent team\/triage already runs under Gateway platform\/shared \(pod other\), .*; set another agent name for this workload/,
    )
  })

  test('is refused, with an Event on its owner, when its workload differs', () => {
    const own = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'triage', uid: 'j', controller: true }]
    const owner = { kind: 'StatefulSet', name: 'triage' }
    const { answer, refusals } = asked([stored('triage-0', { owner })], { ownerReferences: own })
    expect(answer.allowed).toBe(false)
    expect(refusals[0]).toContain('Gateway platform/shared')
  })

  test.each<[string, Shape]>([
    ['under the same Gateway', { gateway: 'team/main' }],
    ['as another agent', { agent: 'writer' }],
    ['no more, for it ended', { phase: 'Succeeded' }],
    ['not for long, for it is being deleted', { isLeaving: true }],
  ])('is governed while the other pod runs %s', (_how, shape) => {
    expect(asked([stored('other', shape)]).answer).toMatchObject({ allowed: true })
  })

  test('is governed as the new pod of a workload that changes its Gateway', () => {
    const old = stored('triage-a-1', { owner: { kind: 'ReplicaSet', name: 'triage-a' }, hash: 'a' })
    const own = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'triage-b', uid: 'b', controller: true }]
    const metadata = { labels: { 'pod-template-hash': 'b' }, ownerReferences: own }
    expect(asked([old], metadata).answer).toMatchObject({ allowed: true })
  })
})

describe('a Gateway that shares an agent with another', () => {
  const pods = [
    stored('a', { gateway: 'team/main' }),
    stored('b'),
    stored('c', { agent: 'writer' }),
    stored('d', { agent: 'writer', gateway: 'team/main', phase: 'Failed' }),
  ]

  test('is reported on both Gateways, only while both pods run', () => {
    const sharedOf = (running: typeof pods, gateway: string) => indexOf(running).factsOf(gateway).sharedAgents
    expect(sharedOf(pods, 'team/main')).toEqual(['team/triage, also of platform/shared (pod team/b)'])
    expect(sharedOf(pods, 'platform/shared')).toEqual(['team/triage, also of team/main (pod team/a)'])
    expect(sharedOf(pods.slice(1), 'platform/shared')).toEqual([])
  })

  test('has a condition with the change to make', () => {
    const gateway = {
      metadata: { namespace: 'team', name: 'main', uid: 'u', resourceVersion: '7', generation: 3 },
      spec: GatewaySpec.parse({}),
    } as CustomResource<'Gateway'>
    const status = planStatus('Gateway', gateway, {
      reply: PushReply.parse({ accepted: true, reasons: [], version: 10, gateways: ['team/main'] }),
      ...{
        failure: null,
        credential: null,
        credentialError: null,
        isStale: false,
        undeclared: [],
        now: '2026-01-01T00:00:00Z',
      },
      gateway: {
        ...{ state: null, bypassing: [], disconnected: [], notIsolatedIn: [], belowFloor: [] },
        pods: indexOf(pods).factsOf('team/main'),
      },
    })
    const found = status.conditions?.find(({ type }) => type === 'Degraded')
    expect(found).toMatchObject({ status: 'True', reason: 'AgentShared' })
    expect(found?.message).toContain('team/triage, also of platform/shared (pod team/b)')
    expect(found?.message).toContain('chaperone.dev/agent')
  })
})
