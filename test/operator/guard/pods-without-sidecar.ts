import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeCall } from '../../../kube/transport.ts'
import { refusalOf } from '../../support/kube-objects.ts'
import { PLAIN, UID } from './bypass-pods.ts'
import type { Guard } from './guard-world.ts'

/** Tests of changes of a pod that was created without a sidecar. */
export function describePodsWithoutSidecar(guard: Guard): void {
  describe('of a pod that never had a sidecar', () => {
    const INJECTED = JSON.stringify({ gateway: 'team/main', agent: 'agent', layer: 'Transparent' })
    const LABEL = { 'chaperone.dev/inject': 'injected' }
    const path = '/api/v1/namespaces/team/pods/never'
    const patch = (metadata: object, subresource = ''): KubeCall => ({
      method: 'PATCH',
      path: `${path}${subresource}`,
      contentType: 'application/merge-patch+json',
      body: { metadata },
    })
    beforeAll(async () => {
      const spec = { ...PLAIN, initContainers: [{ name: 'prepare', image: 'busybox' }] }
      expect(await guard.create({ metadata: { name: 'never' }, spec })).toBeNull()
      const named = { ...PLAIN, initContainers: [{ name: 'chaperone-proxy', image: 'busybox' }] }
      expect(await guard.create({ metadata: { name: 'named' }, spec: named })).toBeNull()
    })

    it('gets no Gateway later, and no other one', async () => {
      const named = (name: string | null) => ({ annotations: { 'chaperone.dev/gateway': name } })
      for (const subresource of ['', '/status']) {
        const says = await refusalOf(guard.client, patch(named('main'), subresource))
        expect(says).toContain('the pod has no sidecar, and only a new pod gets a sidecar')
        expect(says).toContain('metadata.annotations[chaperone.dev/gateway] from "" to "main"')
        expect(says).toContain('Delete the pod')
      }
      expect(await refusalOf(guard.client, patch({ labels: { team: 'blue' } }))).toBeNull()
    })

    it.each([
      ['the label', { labels: LABEL }],
      ['the annotation of the injector', { annotations: { 'chaperone.dev/injected': INJECTED } }],
      [
        'everything that the injector writes',
        {
          labels: { ...LABEL, 'chaperone.dev/layer': 'Transparent' },
          annotations: {
            ...{ 'chaperone.dev/injected': INJECTED, 'chaperone.dev/gateway': 'main' },
            ...{ 'chaperone.dev/agent': 'agent', 'chaperone.dev/proxy-uid': String(UID) },
          },
        },
      ],
    ])(
      'refuses %s, also in a write of its status and for a container of the same name',
      async (_, metadata) => {
        for (const call of [patch(metadata), patch(metadata, '/status')])
          expect(await refusalOf(guard.client, call)).toContain('only the injector sets')
        const named = { ...patch(metadata), path: '/api/v1/namespaces/team/pods/named' }
        expect(await refusalOf(guard.client, named)).toContain('only the injector sets')
        const { metadata: now } = await guard.client.call<{ metadata: object }>({ method: 'GET', path })
        expect(JSON.stringify(now)).not.toContain('injected"')
      },
    )

    it.each([
      ['that says so itself', { labels: LABEL }],
      [
        'that says so with every annotation',
        { labels: LABEL, annotations: { 'chaperone.dev/injected': INJECTED } },
      ],
    ])('refuses to create one %s', async (_, metadata) => {
      expect(await guard.create({ metadata: { name: 'born', ...metadata }, spec: PLAIN })).toContain(
        'initContainers',
      )
    })

    it('allows changes of other metadata, and other values of the label', async () => {
      const metadata = {
        labels: { team: 'red', 'chaperone.dev/inject': 'disabled' },
        annotations: { note: 'x' },
      }
      expect(await refusalOf(guard.client, patch(metadata))).toBeNull()
      expect(await refusalOf(guard.client, patch({ labels: { team: null } }, '/status'))).toBeNull()
    })

    it.each([
      ['annotations', 'pods/never/binding', { 'chaperone.dev/injected': INJECTED }],
      ['labels', 'pods/never/binding', LABEL],
      ['annotations', 'bindings', { 'chaperone.dev/gateway': 'main' }],
    ])('refuses %s by %s', async (map, resource, value) => {
      const call = (metadata: object): KubeCall => ({
        ...{ method: 'POST', path: `/api/v1/namespaces/team/${resource}`, query: { dryRun: 'All' } },
        body: {
          ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: 'never', ...metadata } },
          target: { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
        },
      })
      expect(await refusalOf(guard.client, call({ [map]: value }))).toContain(
        'a Binding must not have labels or annotations of chaperone.dev',
      )
      expect(await refusalOf(guard.client, call({}))).toBeNull()
    })
  })
}
