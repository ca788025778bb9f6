import { expect, test } from 'vitest'
import { CONTAINERS } from '../../../core/capture/pod-contract.ts'
import { inject } from '../../../core/inject/inject.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

test('the sidecar has the resource attributes of the installation, and no variable without them', () => {
  const pod = PodSchema.parse({
    metadata: { name: 'triage' },
    spec: { containers: [{ name: 'agent', image: 'node:24' }] },
  })
  const variable = (resourceAttributes: string | null) => {
    const result = inject(pod, gateway('team', 'main'), { ...INJECT_OPTIONS, resourceAttributes })
    if (result.kind !== 'injected') throw new Error(JSON.stringify(result.refusals))
    const sidecar = result.pod.spec.initContainers?.find(({ name }) => name === CONTAINERS.proxy)
    return sidecar?.env?.find(({ name }) => name === 'OTEL_RESOURCE_ATTRIBUTES')
  }
  expect(variable('k8s.cluster.name=prod-1')).toMatchObject({ value: 'k8s.cluster.name=prod-1' })
  expect(variable(null)).toBeUndefined()
})
