import { describe, expect, it } from 'vitest'
import { agentName } from '../../../core/inject/agent-name.ts'
import { governance } from '../../../core/inject/governance.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { refusalText } from '../../../core/inject/refusals/refusal.ts'
import { gateway, gatewayLookup } from '../../support/golden-pods.ts'

const REQUIRED = { 'chaperone.dev/inject': 'required' }
const pod = (annotations: Record<string, string> = {}) =>
  PodSchema.parse({ metadata: { annotations }, spec: { containers: [] } })
const of = (
  labels: Record<string, string>,
  annotations: Record<string, string> = {},
  lookup = gatewayLookup(),
) => {
  const isRequired = labels['chaperone.dev/inject'] === 'required'
  return governance(pod(annotations), { name: 'team', labels, isRequired }, lookup)
}

describe('governance of pods', () => {
  it('is a pod with the annotation, in any namespace', () => {
    for (const labels of [{}, { 'chaperone.dev/inject': 'enabled' }, REQUIRED]) {
      const found = of(labels, { 'chaperone.dev/gateway': 'main' })
      expect(found.kind === 'governed' && found.gateway.name).toBe('main')
    }
  })

  it('excludes pods without the annotation in a namespace that does not require it', () => {
    expect(of({})).toEqual({ kind: 'none' })
    expect(of({ 'chaperone.dev/inject': 'enabled' })).toEqual({ kind: 'none' })
  })

  it('is every pod where it is required, by the only Gateway there', () => {
    const found = of(REQUIRED)
    expect(found.kind === 'governed' && found.gateway.name).toBe('main')
  })

  it('is refused where it is required and no Gateway or more than one could govern', () => {
    const none = of(REQUIRED, {}, { gatewayOf: () => undefined, gatewaysIn: () => [] })
    expect(none.kind === 'refused' && refusalText(none.refusals[0])).toMatch(/has no Gateway; create a/)
    const two = [gateway('team', 'one'), gateway('team', 'two')]
    const several = of(REQUIRED, {}, { gatewayOf: () => undefined, gatewaysIn: () => two })
    expect(several.kind === 'refused' && refusalText(several.refusals[0])).toMatch(/name one of one, two$/)
  })

  it('gives the same answer for a missing Gateway and for one that does not admit the namespace', () => {
    const text = (named: string) => {
      const found = of({}, { 'chaperone.dev/gateway': named })
      return found.kind === 'refused' && refusalText(found.refusals[0]).replace(named, 'X')
    }
    expect(text('platform/closed')).toBe(text('platform/nothing'))
    expect(text('platform/closed')).toContain('admit team in its spec.allowedNamespaces.agents')
    expect(text('a/b/c')).toContain('is not a Gateway for agents')
  })
})

describe('the name of an agent', () => {
  const owned = (kind: string, name: string, labels = {}) => ({
    name: 'pod-x',
    labels,
    ownerReferences: [{ apiVersion: 'v1', kind, name, controller: true }],
  })
  it.each([
    ['the annotation', { annotations: { 'chaperone.dev/agent': 'triage' }, name: 'p' }, 'triage'],
    ['its Deployment', owned('ReplicaSet', 'web-6f7c9d', { 'pod-template-hash': '6f7c9d' }), 'web'],
    ['its Rollout', owned('ReplicaSet', 'web-77', { 'rollouts-pod-template-hash': '77' }), 'web'],
    ['its bare ReplicaSet', owned('ReplicaSet', 'web-6f7c9d'), 'web-6f7c9d'],
    ['its CronJob', owned('Job', 'nightly-29384160'), 'nightly'],
    ['its Job, whose name ends with a date', owned('Job', 'report-20260101'), 'report-20260101'],
    ['its StatefulSet', owned('StatefulSet', 'memory'), 'memory'],
    ['itself', { name: 'solo' }, 'solo'],
    ['itself, before it has a name', { generateName: 'solo-' }, 'solo'],
  ])('is that of %s', (_, metadata, name) => expect(agentName(metadata)).toBe(name))
})
