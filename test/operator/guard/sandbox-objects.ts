import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeCall } from '../../../kube/transport.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { refusalOf } from '../../support/kube-objects.ts'
import {
  CLAIM_DEFINITION,
  SANDBOX_DEFINITION,
  TEMPLATE_DEFINITION,
} from '../../support/sandbox-definitions.ts'
import type { Guard } from './guard-world.ts'

/** Tests of objects of agent-sandbox. */
export function describeSandboxObjects(guard: Guard): void {
  describe('of objects of agent-sandbox', () => {
    const OBJECTS = {
      Sandbox: { base: '/apis/agents.x-k8s.io/v1beta1', plural: 'sandboxes' },
      SandboxTemplate: { base: '/apis/extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxtemplates' },
      SandboxClaim: { base: '/apis/extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxclaims' },
    } as const
    type Kind = keyof typeof OBJECTS
    const specOf = (kind: Kind, metadata: object) =>
      kind === 'SandboxClaim' ? { additionalPodMetadata: metadata } : { podTemplate: { metadata } }
    const made = (kind: Kind, name: string, metadata: object): KubeCall => ({
      ...{ method: 'POST', path: pathOf(OBJECTS[kind], 'team') },
      body: {
        ...{ apiVersion: OBJECTS[kind].base.replace('/apis/', ''), kind, metadata: { name } },
        spec: specOf(kind, metadata),
      },
    })
    const changed = (kind: Kind, name: string, spec: object): KubeCall => ({
      ...{ method: 'PATCH', path: pathOf(OBJECTS[kind], 'team', name) },
      ...{ contentType: 'application/merge-patch+json', body: { spec } },
    })
    const gateway = (name: string | null) => ({ annotations: { 'chaperone.dev/gateway': name } })

    beforeAll(async () => {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
      for (const body of [SANDBOX_DEFINITION, TEMPLATE_DEFINITION, CLAIM_DEFINITION])
        await guard.client.call({ method: 'POST', path, body })
      for (const kind of Object.keys(OBJECTS) as Kind[])
        await eventually(`${kind} is served`, async () =>
          (await refusalOf(guard.client, made(kind, 'first', {}))) === null ? true : null,
        )
    })

    it('admits what the user of a template or a Sandbox chooses', async () => {
      const metadata = {
        labels: { team: 'blue', 'chaperone.dev/inject': 'enabled' },
        annotations: { 'chaperone.dev/gateway': 'main', 'chaperone.dev/agent': 'librarian' },
      }
      for (const kind of ['Sandbox', 'SandboxTemplate'] as const)
        expect(await refusalOf(guard.client, made(kind, 'governed', metadata))).toBeNull()
      const ofUser = { labels: { 'sandbox.users.io/x': 'y' }, annotations: { note: 'z' } }
      expect(await refusalOf(guard.client, made('SandboxClaim', 'plain', ofUser))).toBeNull()
    })

    it.each([
      ['SandboxClaim', { annotations: { 'chaperone.dev/agent': 'payments' } }],
      ['SandboxClaim', gateway('other')],
      ['SandboxClaim', { labels: { 'chaperone.dev/inject': 'disabled' } }],
      ['Sandbox', { annotations: { 'chaperone.dev/proxy-uid': '1900000001' } }],
      ['SandboxTemplate', { annotations: { 'chaperone.dev/injected': '{}' } }],
      ['SandboxTemplate', { labels: { 'chaperone.dev/layer': 'Transparent' } }],
      ['SandboxTemplate', { labels: { 'chaperone.dev/inject': 'disabled' } }],
    ] as const)('refuses a %s with %j, at its creation and as a change', async (kind, metadata) => {
      const [[key = '', value = '']] = Object.values(metadata).flatMap((map) => Object.entries(map)) as [
        [string, string],
      ]
      for (const call of [made(kind, 'wrong', metadata), changed(kind, 'first', specOf(kind, metadata))]) {
        const says = await refusalOf(guard.client, call)
        expect(says).toContain('chaperone-sandboxes')
        expect(says).toContain(`${key} from "" to "${value}"`)
        expect(says).toMatch(/Remove the key/)
      }
    })

    it('refuses another Gateway for a running Sandbox, and admits another spelling and a suspended one', async () => {
      expect(await refusalOf(guard.client, made('Sandbox', 'running', gateway('main')))).toBeNull()
      const to = (name: string | null, spec: object = {}) =>
        changed('Sandbox', 'running', { ...specOf('Sandbox', gateway(name)), ...spec })
      const other = await refusalOf(guard.client, to('other'))
      expect(other).toContain('chaperone.dev/gateway from "main" to "other"')
      expect(other).toContain('Set spec.operatingMode: Suspended first')
      expect(await refusalOf(guard.client, to(null))).toContain('chaperone.dev/gateway from "main" to ""')
      expect(await refusalOf(guard.client, to('team/main'))).toBeNull()
      expect(await refusalOf(guard.client, to('other', { operatingMode: 'Suspended' }))).toBeNull()
      expect(await refusalOf(guard.client, to('main', { operatingMode: 'Running' }))).toBeNull()
      const late = await refusalOf(
        guard.client,
        changed('Sandbox', 'first', specOf('Sandbox', gateway('main'))),
      )
      expect(late).toContain('chaperone.dev/gateway from "" to "main"')
    })

    it('lets a template change its Gateway', async () => {
      expect(await refusalOf(guard.client, made('SandboxTemplate', 'changing', gateway('main')))).toBeNull()
      const call = changed('SandboxTemplate', 'changing', specOf('SandboxTemplate', gateway('other')))
      expect(await refusalOf(guard.client, call)).toBeNull()
    })
  })
}
