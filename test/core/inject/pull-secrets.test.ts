import { expect, test } from 'vitest'
import { inject } from '../../../core/inject/inject.ts'
import { type Pod, PodSchema } from '../../../core/inject/pod.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

function injected(pod: unknown, pullSecrets: readonly string[]): Pod {
  const options = { ...INJECT_OPTIONS, images: { ...INJECT_OPTIONS.images, pullSecrets } }
  const result = inject(PodSchema.parse(pod), gateway('team', 'main'), options)
  if (result.kind !== 'injected') throw new Error(JSON.stringify(result.refusals))
  return result.pod
}

const CONTAINERS = [{ name: 'agent', image: 'node:24' }]

test('the pull secrets of the installation follow those of the pod, each once, also after a second injection', () => {
  const pod = {
    metadata: { name: 'triage' },
    spec: { containers: CONTAINERS, imagePullSecrets: [{ name: 'team' }, { name: 'registry' }] },
  }
  const once = injected(pod, ['registry', 'mirror'])
  const wanted = [{ name: 'team' }, { name: 'registry' }, { name: 'mirror' }]
  expect(once.spec.imagePullSecrets).toEqual(wanted)
  expect(injected(once, ['registry', 'mirror']).spec.imagePullSecrets).toEqual(wanted)
})

test('a pod without pull secrets keeps none when the installation has none', () => {
  const pod = { metadata: { name: 'triage' }, spec: { containers: CONTAINERS } }
  expect(injected(pod, []).spec).not.toHaveProperty('imagePullSecrets')
  expect(injected(pod, ['registry']).spec.imagePullSecrets).toEqual([{ name: 'registry' }])
})
