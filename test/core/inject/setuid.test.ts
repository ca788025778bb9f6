import { describe, expect, it } from 'vitest'
import { inject } from '../../../core/inject/inject.ts'
import type { Pod } from '../../../core/inject/pod.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

const POSSIBLE = 'chaperone.dev/bypass-possible'
const podOf = (container: object, spec: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'team', annotations: { 'chaperone.dev/gateway': 'main' } },
  spec: { containers: [{ name: 'agent', image: 'node:24', ...container }], ...spec },
})
function injected(pod: Pod) {
  const result = inject(pod, gateway('team', 'main'), INJECT_OPTIONS)
  if (result.kind !== 'injected') throw new Error('refused')
  return result
}

describe('a container that changes its user', () => {
  it.each<[string, object, string]>([
    ['by its command', { command: ['gosu', 'app', 'node', 'a.js'] }, 'spec.containers[0]: gosu'],
    ['by a path', { args: ['/sbin/su-exec', 'app', 'node'] }, 'spec.containers[0]: su-exec'],
    ['in a shell', { command: ['sh', '-c', 'cd /x && exec gosu app node a.js'] }, 'spec.containers[0]: gosu'],
    ['as its image does', { image: 'registry.example:5000/library/redis:7' }, 'spec.containers[0]: redis'],
  ])('%s is injected, and never in silence', (_, container, need) => {
    const { pod, warnings } = injected(podOf(container))
    expect(pod.metadata.annotations?.[POSSIBLE]).toBe(need)
    expect(warnings.join('\n')).toContain(`${need} changes the user`)
    const again = inject(pod, gateway('team', 'main'), { ...INJECT_OPTIONS, keepsUid: () => true })
    expect(again.kind === 'injected' && again.pod).toEqual(pod)
  })

  it.each<[string, object, object]>([
    ['does not, though a word is like it', { command: ['node', 'gosuper.js', 'issue'] }, {}],
    ['is given a user', { image: 'redis:7', securityContext: { runAsUser: 999 } }, {}],
    ['is given a user with its pod', { image: 'redis:7' }, { securityContext: { runAsUser: 999 } }],
  ])('and one that %s is not suspected', (_, container, spec) => {
    const { pod, warnings } = injected(podOf(container, spec))
    expect(pod.metadata.annotations).not.toHaveProperty([POSSIBLE])
    expect(warnings).toEqual([])
  })

  it("comes from the pod's fields, not from the annotation that a tenant writes", () => {
    const pod = podOf({})
    const claimed = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [POSSIBLE]: 'x' } },
    }
    expect(injected(claimed).pod.metadata.annotations).not.toHaveProperty([POSSIBLE])
  })
})
