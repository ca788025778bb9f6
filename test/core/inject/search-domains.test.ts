import { expect, test } from 'vitest'
import { CONTAINERS } from '../../../core/capture/pod-contract.ts'
import { inject } from '../../../core/inject/inject.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

test('the sidecar has the search domains of the nodes, and no variable without them', () => {
  const pod = PodSchema.parse({
    metadata: { name: 'triage' },
    spec: { containers: [{ name: 'agent', image: 'node:24' }] },
  })
  const variable = (searchDomains: readonly string[]) => {
    const options = { ...INJECT_OPTIONS, dns: { ...INJECT_OPTIONS.dns, searchDomains } }
    const result = inject(pod, gateway('team', 'main'), options)
    if (result.kind !== 'injected') throw new Error(JSON.stringify(result.refusals))
    const sidecar = result.pod.spec.initContainers?.find(({ name }) => name === CONTAINERS.proxy)
    return sidecar?.env?.find(({ name }) => name === 'SEARCH_DOMAINS')
  }
  expect(variable(['corp.example', 'ec2.internal'])).toMatchObject({ value: 'corp.example,ec2.internal' })
  expect(variable([])).toBeUndefined()
})
