import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeCall } from '../../../kube/transport.ts'
import { refusalOf } from '../../support/kube-objects.ts'
import { agent, governedPod, secure, UID } from './bypass-pods.ts'
import { type Guard, hardened } from './guard-world.ts'

/** Tests of changes of a governed pod that runs. */
export function describeRunningPods(guard: Guard): void {
  describe('of a running pod', () => {
    const path = '/api/v1/namespaces/team/pods/running'
    const patch = (body: object, subresource = ''): KubeCall => ({
      method: 'PATCH',
      path: `${path}${subresource}`,
      contentType: 'application/strategic-merge-patch+json',
      body,
    })
    beforeAll(async () => {
      expect(await guard.create(governedPod('running'))).toBeNull()
    })

    it.each(['chaperone-proxy', 'chaperone-rules'])('keeps the image of %s', async (name) => {
      const says = await refusalOf(
        guard.client,
        patch({ spec: { initContainers: [{ name, image: 'mine' }] } }),
      )
      expect(says).toContain('spec.initContainers[*].image')
    })

    it('refuses another image for a container whose user the image chooses', async () => {
      for (const [list, name] of [
        ['containers', 'agent'],
        ['initContainers', 'prepare'],
      ] as const) {
        const says = await refusalOf(guard.client, patch({ spec: { [list]: [{ name, image: 'mine' }] } }))
        expect(says).toContain(`spec.${list}[*].image`)
        expect(says).toContain('set securityContext.runAsUser')
      }
    })

    it('lets the image of a container with a numeric user change', async () => {
      expect(
        await guard.create(
          governedPod('numeric', (pod) => {
            secure(agent(pod), { runAsUser: 1000 })
          }),
        ),
      ).toBeNull()
      const body = { spec: { containers: [{ name: 'agent', image: 'node:25' }] } }
      const call = { ...patch(body), path: '/api/v1/namespaces/team/pods/numeric' }
      expect(await refusalOf(guard.client, call)).toBeNull()
    })

    it('keeps the resources of the proxy, and lets those of the agent change', async () => {
      const resources = { limits: { memory: '8Mi' }, requests: { memory: '8Mi' } }
      const says = await refusalOf(
        guard.client,
        patch({ spec: { initContainers: [{ name: 'chaperone-proxy', resources }] } }, '/resize'),
      )
      expect(says).toContain('spec.initContainers[*].resources')
    })

    it.each([
      ['labels', 'chaperone.dev/inject'],
      ['labels', 'chaperone.dev/layer'],
      ['labels', 'chaperone.dev/inbound'],
      ['annotations', 'chaperone.dev/proxy-uid'],
      ['annotations', 'chaperone.dev/agent'],
      ['annotations', 'chaperone.dev/gateway'],
      ['annotations', 'chaperone.dev/injected'],
    ])('keeps its %s %s, also in a write of its status', async (map, key) => {
      // The pod has no label about inbound connections, so its removal changes nothing.
      for (const value of key.endsWith('/inbound') ? ['deny'] : [null, 'other'])
        for (const subresource of ['', '/status'])
          expect(
            await refusalOf(guard.client, patch({ metadata: { [map]: { [key]: value } } }, subresource)),
          ).toContain('metadata:')
    })

    it('names the key, its old and its new value, and the remedy', async () => {
      const says = await refusalOf(
        guard.client,
        patch({ metadata: { annotations: { 'chaperone.dev/agent': 'x' } } }),
      )
      expect(says).toContain('metadata.annotations[chaperone.dev/agent] from "running" to "x"')
      expect(says).toContain('delete the pod (for a Sandbox, delete the Sandbox)')
    })

    it('lets another spelling of the same Gateway', async () => {
      for (const spelling of ['team/main', 'main'])
        expect(
          await refusalOf(
            guard.client,
            patch({ metadata: { annotations: { 'chaperone.dev/gateway': spelling } } }),
          ),
        ).toBeNull()
      const other = patch({ metadata: { annotations: { 'chaperone.dev/gateway': 'other/main' } } })
      expect(await refusalOf(guard.client, other)).toContain(
        'metadata.annotations[chaperone.dev/gateway] from "main" to "other/main"',
      )
    })

    it('allows changes of other labels', async () => {
      expect(await refusalOf(guard.client, patch({ metadata: { labels: { team: 'blue' } } }))).toBeNull()
    })

    it.each([
      ['keeps capabilities', { securityContext: { allowPrivilegeEscalation: false } }, 'capabilities.drop'],
      ['may gain privileges', {}, 'allowPrivilegeEscalation'],
      ['is the user of the proxy', hardened({ runAsUser: UID }), 'runAsUser'],
      [
        'looks into the proxy',
        { ...hardened({}), targetContainerName: 'chaperone-proxy' },
        'targetContainerName',
      ],
      [
        'mounts the token',
        { ...hardened({}), volumeMounts: [{ name: 'chaperone-token', mountPath: '/t' }] },
        'volumeMounts',
      ],
    ])('refuses a debug container that %s', async (_, more, field) => {
      const container = { name: 'debug', image: 'busybox', ...more }
      const says = await refusalOf(
        guard.client,
        patch({ spec: { ephemeralContainers: [container] } }, '/ephemeralcontainers'),
      )
      expect(says).toContain('spec.ephemeralContainers[*]')
      expect(says).toContain(field)
    })

    it('admits a debug container without more rights than the agent', async () => {
      const container = { name: 'shell', image: 'busybox', targetContainerName: 'agent', ...hardened({}) }
      expect(
        await refusalOf(
          guard.client,
          patch({ spec: { ephemeralContainers: [container] } }, '/ephemeralcontainers'),
        ),
      ).toBeNull()
    })

    it.each(['exec', 'attach'])('refuses %s into the sidecar', async (verb) => {
      const call = (container: string): KubeCall => ({
        method: 'POST',
        path: `${path}/${verb}`,
        query: { container, command: 'sh', stdout: true },
      })
      for (const name of ['chaperone-proxy', 'chaperone-rules'])
        expect(await refusalOf(guard.client, call(name))).toContain(
          'exec and attach are not allowed for the sidecar',
        )
      // There is no node to run it on; what counts is that admission had nothing against it.
      expect(await refusalOf(guard.client, call('agent'))).not.toContain('ValidatingAdmissionPolicy')
    })
  })
}
