import { expect } from 'vitest'
import { AGENTS } from './installation.ts'
import { get, type KubeObject, kube } from './kubectl.ts'

/** Expects that a pod has its sidecar before all other containers, and deletes it. */
export async function expectGoverned({ metadata: { name } }: KubeObject): Promise<void> {
  type Pod = { readonly spec: { readonly initContainers: ReadonlyArray<{ readonly name: string }> } }
  const found = await get<Pod>('pod', name, AGENTS)
  await kube(['delete', 'pod', name, '-n', AGENTS, '--wait=false'])
  expect(found?.spec.initContainers.slice(0, 2).map((each) => each.name)).toEqual([
    'chaperone-rules',
    'chaperone-proxy',
  ])
}
