import { describe, expect, test } from 'vitest'
import { readSandbox, type SandboxLookup, type SandboxMetadata } from '../../../core/inject/sandbox.ts'
import { governedPod } from '../../../operator/cluster/pods/governed-pods.ts'
import { createPodIndex } from '../../../operator/cluster/pods/pod-index.ts'
import { injectedPod } from '../../../operator/control/pod-metadata.ts'
import { isWithoutDependency, reviewPod } from '../../../operator/webhook/review-pod.ts'
import { gatewayLookup, INJECT_OPTIONS, NO_RUNTIMES } from '../../support/golden-pods.ts'

const OWNER = 'extensions.agents.x-k8s.io/v1beta1'
const OF_TEMPLATE = { 'agents.x-k8s.io/sandbox-template-ref': 'research' }

/** A Sandbox as agent-sandbox writes it, owned by a pool or a claim, or by nobody. */
function sandbox(uid: string, ownerKind: string | null, annotations: Record<string, string> = OF_TEMPLATE) {
  const owners = [{ apiVersion: OWNER, kind: ownerKind ?? '', name: 'o', uid: 'o', controller: true }]
  return { uid, annotations, ...(ownerKind !== null && { ownerReferences: owners }) }
}

type World = {
  readonly sandboxes?: Readonly<Record<string, SandboxMetadata>>
  /** Agent in the annotation of each template; undefined: the cache is not filled. */
  readonly templates?: Readonly<Record<string, string | null>>
}

function lookup({ sandboxes = {}, templates }: World): SandboxLookup {
  return {
    sandboxOf(namespace, name) {
      const found = namespace === 'team' ? sandboxes[name] : undefined
      return found && readSandbox(found)
    },
    templateOf: (_namespace, name) => templates && { agent: templates[name] ?? null, gateway: null },
  }
}

type Asked = {
  readonly name: string
  readonly agent?: string
  readonly uid?: string
  readonly running?: object[]
}

function request({ name, agent, uid = 'u' }: Asked) {
  return {
    ...{ uid: 'r', namespace: 'team', operation: 'CREATE' as const, dryRun: false },
    resource: { group: '', version: 'v1', resource: 'pods' },
    object: {
      metadata: {
        name,
        annotations: {
          'chaperone.dev/gateway': 'main',
          ...(agent !== undefined && { 'chaperone.dev/agent': agent }),
        },
        ownerReferences: [
          { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true },
        ],
      },
      spec: { containers: [{ name: 'agent', image: 'node:24' }] },
    },
  }
}

function review(world: World, asked: Asked) {
  const index = createPodIndex()
  for (const [at, pod] of (asked.running ?? []).entries()) index.set(`team/p${at}`, governedPod(pod as never))
  return reviewPod(request(asked), false, {
    gateways: gatewayLookup(),
    namespaceLabels: () => ({}),
    agentElsewhere: index.agentElsewhere,
    sandboxes: lookup(world),
    runtimes: NO_RUNTIMES,
    settings: INJECT_OPTIONS,
    uids: { fresh: () => 1_950_000_000, isIssued: () => false },
    onRefused: () => undefined,
  })
}

/** Annotations of the pod after the injector's patch. */
function annotated(world: World, asked: Asked): Record<string, string> {
  const { patch } = review(world, asked)
  const annotations: Record<string, string> = { ...request(asked).object.metadata.annotations }
  const prefix = '/metadata/annotations/'
  for (const { path, value } of patch as { path: string; value: string }[])
    if (path.startsWith(prefix)) annotations[path.slice(prefix.length).replace('~1', '/')] = value
  return annotations
}

const DEPLOYED = {
  metadata: {
    ...{ namespace: 'team', name: 'payments-1', uid: 'p', resourceVersion: '1' },
    annotations: { 'chaperone.dev/agent': 'payments', 'chaperone.dev/gateway': 'main' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'payments', uid: 's', controller: true },
    ],
  },
  status: { phase: 'Running' },
}

describe('the agent of a pod that agent-sandbox creates', () => {
  test.each([
    ['of a pool', 'warm-7v7qv', 'SandboxWarmPool'],
    ['of a claim', 'alice', 'SandboxClaim'],
    ['of a claim that is named like another agent', 'payments', 'SandboxClaim'],
  ])('%s is that of its template', (_of, name, kind) => {
    const world = { sandboxes: { [name]: sandbox('u', kind) }, templates: {} }
    const annotations = annotated(world, { name, running: [DEPLOYED] })
    expect(annotations['chaperone.dev/agent']).toBe('research')
    expect(JSON.parse(annotations['chaperone.dev/injected'] ?? '')).toMatchObject({
      agent: 'research',
      workload: 'SandboxTemplate research',
    })
  })

  test('is the annotation of the template, if it has one', () => {
    const world = { sandboxes: { alice: sandbox('u', 'SandboxClaim') }, templates: { research: 'librarian' } }
    expect(annotated(world, { name: 'alice' })['chaperone.dev/agent']).toBe('librarian')
    expect(annotated(world, { name: 'alice', agent: 'librarian' })['chaperone.dev/agent']).toBe('librarian')
  })

  test('is never the annotation that a claim adds', () => {
    const world = { sandboxes: { dave: sandbox('u', 'SandboxClaim') }, templates: {} }
    const { allowed, refused } = review(world, { name: 'dave', agent: 'payments' })
    expect(allowed).toBe(false)
    expect(refused?.message).toMatch(
      /chaperone\.dev\/agent\]: the agent of this sandbox is research, which only SandboxTemplate research may set, but the pod states payments; remove the annotation from the SandboxClaim, or set it in the template/,
    )
  })

  test('of a Sandbox that a user created is its annotation, else its name', () => {
    const world = { sandboxes: { lab: sandbox('u', null) }, templates: {} }
    expect(annotated(world, { name: 'lab', agent: 'chemist' })['chaperone.dev/agent']).toBe('chemist')
    const annotations = annotated(world, { name: 'lab' })
    expect(annotations['chaperone.dev/agent']).toBe('lab')
    expect(JSON.parse(annotations['chaperone.dev/injected'] ?? '')).toMatchObject({ workload: 'Sandbox lab' })
  })

  test.each<[string, World, Asked]>([
    [
      'a template',
      { sandboxes: { s: sandbox('u', 'SandboxClaim') }, templates: { research: 'payments' } },
      { name: 's' },
    ],
    ['a Sandbox', { sandboxes: { payments: sandbox('u', null) }, templates: {} }, { name: 'payments' }],
    [
      'the annotation of a Sandbox',
      { sandboxes: { s: sandbox('u', null) }, templates: {} },
      { name: 's', agent: 'payments' },
    ],
  ])('may not be that of another workload: %s', (_of, world, asked) => {
    const { allowed, refused } = review(world, { ...asked, running: [DEPLOYED] })
    expect(allowed).toBe(false)
    expect(refused?.message).toMatch(
      /agent team\/payments belongs to StatefulSet payments \(pod payments-1\), so Sandbox/,
    )
    expect(refused?.message).toContain('set another agent name in the pod template of Sandbox')
  })

  test('may be that of another Sandbox of the same template', () => {
    const pod = {
      metadata: {
        ...{ namespace: 'team', name: 'warm-1', uid: 'w', resourceVersion: '1' },
        annotations: {
          'chaperone.dev/agent': 'research',
          'chaperone.dev/injected':
            '{"gateway":"team/main","agent":"research","workload":"SandboxTemplate research"}',
        },
      },
      status: { phase: 'Running' },
    }
    const world = { sandboxes: { alice: sandbox('u', 'SandboxClaim') }, templates: {} }
    expect(review(world, { name: 'alice', running: [pod] })).toMatchObject({ allowed: true })
  })

  test.each<[string, World, Asked]>([
    ['the Sandbox is not cached', { templates: {} }, { name: 'alice' }],
    [
      'another object had its name',
      { sandboxes: { alice: sandbox('other', 'SandboxClaim') }, templates: {} },
      { name: 'alice' },
    ],
    [
      'the templates are not cached',
      { sandboxes: { alice: sandbox('u', 'SandboxClaim') } },
      { name: 'alice' },
    ],
    [
      'the Sandbox names no template',
      { sandboxes: { alice: sandbox('u', 'SandboxClaim', {}) }, templates: {} },
      { name: 'alice' },
    ],
  ])('is waited for, then refused, while %s', (_why, world, asked) => {
    expect(isWithoutDependency(request(asked), { sandboxes: lookup(world), runtimes: NO_RUNTIMES })).toBe(
      true,
    )
    const { allowed, refused } = review(world, asked)
    expect(allowed).toBe(false)
    expect(refused?.message).toContain(
      'the operator does not know the Sandbox of this pod or its SandboxTemplate yet',
    )
  })

  test('is reported to the control plane with its workload', () => {
    const marked = (injected: object) =>
      injectedPod({
        metadata: {
          ...{ namespace: 'team', name: 'alice', uid: 'u', resourceVersion: '1' },
          labels: { 'chaperone.dev/inject': 'injected' },
          annotations: {
            'chaperone.dev/gateway': 'main',
            'chaperone.dev/agent': 'research',
            'chaperone.dev/injected': JSON.stringify({
              gateway: 'team/main',
              agent: 'research',
              ...injected,
            }),
          },
        },
      }).injection
    expect(marked({ workload: 'SandboxTemplate research' })?.workload).toBe('SandboxTemplate research')
    expect(marked({})?.workload).toBe('Pod alice')
  })
})
