import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasCode } from '../../../operator/kube/kube-failure.ts'
import { pathOf, RESOURCES } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import type { Any } from '../kube/cluster.ts'
import { type ClusterWorld, startClusterWorld, statusOf, untilConditions } from './world.ts'

const ARGO = 'argocd-controller'
const FLUX = 'kustomize-controller'
const PERSON = 'kubectl'

type Managed = { readonly manager: string; readonly fieldsV1?: Readonly<Record<string, unknown>> }

describe.skipIf(kubeAssets() === null)(
  `server-side apply by several field managers (${KUBE_ASSETS_HINT})`,
  () => {
    let world: ClusterWorld
    beforeAll(async () => {
      world = await startClusterWorld()
      await world.cluster.namespace('team')
      await world.operator()
    })
    afterAll(() => world?.[Symbol.asyncDispose]())

    const applied = (fieldManager: string, part: { metadata?: object; spec?: object }, query: object = {}) =>
      world.cluster.client.call<Any>({
        method: 'PATCH',
        path: pathOf(RESOURCES.Gateway, 'team', 'prod'),
        query: { fieldManager, ...query },
        contentType: 'application/apply-patch+yaml',
        body: {
          ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' },
          metadata: { name: 'prod', namespace: 'team', ...part.metadata },
          ...(part.spec && { spec: part.spec }),
        },
      })
    const fromArgo = {
      spec: { enforcementLevel: 'enforce_high_risk', egress: { allowedHosts: ['a.example.com'] } },
    }
    const fromFlux = {
      metadata: { labels: { team: 'agents' } },
      spec: { rateLimit: { requestsPerMinute: 300 } },
    }
    const fromPerson = { spec: { killSwitch: { active: true, reason: 'drill' } } }
    const generation = ({ metadata }: Any) => (metadata as unknown as { generation: number }).generation

    test('each keeps its fields, the operator owns the status only, and an unchanged apply writes nothing', async () => {
      await applied(ARGO, fromArgo)
      await applied(FLUX, fromFlux)
      await applied(PERSON, fromPerson)
      const made = await untilConditions(
        world.cluster,
        ['Gateway', 'team', 'prod'],
        ['Ready=True/Ready', 'KillSwitchActive=True/Gateway'],
      )
      expect(made['spec']).toMatchObject({ ...fromArgo.spec, ...fromFlux.spec, ...fromPerson.spec })
      const { managedFields = [] } = made.metadata as { readonly managedFields?: readonly Managed[] }
      const owns = managedFields.map(({ manager, fieldsV1 = {} }) => [manager, Object.keys(fieldsV1).sort()])
      expect(Object.fromEntries(owns)).toEqual({
        [ARGO]: ['f:spec'],
        [FLUX]: ['f:metadata', 'f:spec'],
        [PERSON]: ['f:spec'],
        'chaperone-operator': ['f:status'],
      })
      // What both tools compare: the answer of a dry run. Defaults of the schema are no difference.
      for (const [manager, part] of [
        [ARGO, fromArgo],
        [FLUX, fromFlux],
        [PERSON, fromPerson],
      ] as const) {
        const dry = await applied(manager, part, { dryRun: 'All' })
        expect(dry['spec'], manager).toEqual(made['spec'])
        expect(generation(await applied(manager, part)), manager).toBe(generation(made))
      }
    })

    test('a conflict is refused without force, and drift is put right by the next apply, not by the operator', async () => {
      const conflict = await applied(FLUX, {
        ...fromFlux,
        spec: { ...fromFlux.spec, enforcementLevel: 'monitor' },
      }).then(
        () => null,
        (error: unknown) => error,
      )
      expect(hasCode(conflict, 'conflict')).toBe(true)
      await world.cluster.patch('Gateway', 'team', 'prod', { spec: { enforcementLevel: 'monitor' } })
      const drifted = await untilConditions(world.cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
      expect(drifted['spec']).toMatchObject({ enforcementLevel: 'monitor' })
      const healed = await applied(ARGO, fromArgo, { force: true })
      expect(healed['spec']).toMatchObject({ enforcementLevel: 'enforce_high_risk', ...fromPerson.spec })
      await eventually('the control plane publishes the generation of the apply', async () => {
        const status = statusOf(await world.cluster.get('Gateway', 'team', 'prod'))
        const programmed = status.conditions?.find(({ type }) => type === 'Programmed') as
          | { readonly status: string; readonly observedGeneration?: number }
          | undefined
        return (programmed?.status === 'True' && programmed.observedGeneration === generation(healed)) || null
      })
      // What a manager no longer applies goes: the kill switch of the person, and nothing else.
      const lifted = await applied(PERSON, {})
      expect(lifted['spec']).toMatchObject({ ...fromArgo.spec, ...fromFlux.spec })
      await untilConditions(world.cluster, ['Gateway', 'team', 'prod'], ['KillSwitchActive=False/NotActive'])
    })
  },
)
