import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pathOf, RESOURCES } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { type ClusterWorld, startClusterWorld, statusOf, untilConditions } from './world.ts'

type Schema = { readonly properties: Record<string, Schema> } & Record<string, unknown>
type Definition = {
  readonly spec: {
    readonly versions: ReadonlyArray<{ readonly schema: { readonly openAPIV3Schema: Schema } }>
  }
}

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gateways.chaperone.dev'

/** Changes the definition of Gateways, and waits until the API server serves the changed one. */
async function redefine(
  { cluster: { client } }: ClusterWorld,
  change: (schema: Schema) => void,
  isServed: () => Promise<boolean>,
): Promise<void> {
  const definition = await client.call<Definition>({ method: 'GET', path: DEFINITION })
  for (const { schema } of definition.spec.versions) change(schema.openAPIV3Schema)
  await client.call({ method: 'PUT', path: DEFINITION, body: definition })
  await eventually('the definition is served', async () => ((await isServed()) ? true : null))
}

/** Writes the status of a Gateway as the field manager `manager`. */
function writeStatus({ cluster: { client } }: ClusterWorld, manager: string, status: object) {
  return client.call<object>({
    method: 'PATCH',
    path: `${pathOf(RESOURCES.Gateway, 'team', 'main')}/status`,
    query: { fieldManager: manager, force: true },
    contentType: 'application/apply-patch+yaml',
    body: {
      ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' },
      metadata: { name: 'main', namespace: 'team' },
      status,
    },
  })
}

const condition = (type: string, reason: string) => ({
  ...{ type, status: 'True', reason, message: 'by a newer version', observedGeneration: 1 },
  lastTransitionTime: new Date().toISOString(),
})

describe.skipIf(kubeAssets() === null)(`custom resources of another version (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await startClusterWorld()
    await world.cluster.namespace('team')
    await world.cluster.create('Gateway', 'team', 'main', {})
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('an older one lacks status fields: the operator writes the others once, and the status names the missing ones', async () => {
    const isPruned = async () => {
      const object = (await world.cluster.patch('Gateway', 'team', 'main', {
        spec: { killSwitch: { active: false, reason: `${Math.random()}` } },
      })) as object
      return !('interception' in ((object as { spec: object }).spec ?? {}))
    }
    await redefine(
      world,
      ({ properties: { spec, status } }) => {
        delete spec?.properties['interception']
        delete status?.properties['layer']
        delete status?.properties['pods']
      },
      isPruned,
    )
    await using _operator = await world.operator()
    const gateway = await untilConditions(
      world.cluster,
      ['Gateway', 'team', 'main'],
      ['Accepted=True/Accepted', 'Programmed=True/Programmed', 'Degraded=True/DefinitionOutdated'],
    )
    expect(statusOf(gateway)).not.toHaveProperty('layer')
    expect(statusOf(gateway)).toHaveProperty('gateways')
    expect(JSON.stringify(statusOf(gateway))).toContain('status.layer, status.pods')
    const writes = async () => (await world.writes()).filter((each) => each.includes('gateways/status'))
    const written = await writes()
    // A change of the object alone: the killSwitch is the same.
    await world.cluster.patch('Gateway', 'team', 'main', { metadata: { labels: { seen: 'again' } } })
    // Longer than a write of the operator has precedence over the watch.
    await new Promise((resolve) => setTimeout(resolve, 5_500))
    await world.cluster.patch('Gateway', 'team', 'main', { metadata: { labels: { seen: 'twice' } } })
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect((await writes()).slice(written.length)).toEqual([])
  })

  test('a newer one has further fields, and the status words of a newer operator: both stay, and the operator writes its own', async () => {
    await redefine(
      world,
      ({ properties: { spec, status } }) => {
        for (const part of [spec, status])
          if (part !== undefined) Object.assign(part.properties, { newer: { type: 'string' } })
      },
      () =>
        writeStatus(world, 'newer', { newer: 'x', conditions: [condition('Newer', 'ByNewer')] }).then(
          () => true,
          () => false,
        ),
    )
    await writeStatus(world, 'chaperone-operator', { conditions: [condition('Degraded', 'NewerReason')] })
    await using _operator = await world.operator()
    const gateway = await untilConditions(
      world.cluster,
      ['Gateway', 'team', 'main'],
      // The definition still lacks the fields of the test above.
      ['Degraded=True/DefinitionOutdated', 'Newer=True/ByNewer', 'Programmed=True/Programmed'],
    )
    expect(statusOf(gateway)).toMatchObject({ newer: 'x' })
  })

  test('a field of the spec that only a newer one has is refused by name, and the last good spec stays in force', async () => {
    await using _operator = await world.operator()
    const place = ['Gateway', 'team', 'main'] as const
    await untilConditions(world.cluster, place, ['Accepted=True/Accepted'])
    const pushed = async () =>
      (await world.replica.operator('GET', '/api/operator/objects/Gateway/team/main')).body
    const { version } = await pushed()
    await world.cluster.patch('Gateway', 'team', 'main', {
      spec: { newer: 'x', enforcementLevel: 'monitor' },
    })
    const refused = await untilConditions(world.cluster, place, ['Accepted=False/Invalid'])
    expect(JSON.stringify(statusOf(refused))).toContain('newer')
    // The version of the configuration is the same, so nothing of the object has changed at the gateways.
    expect(await pushed()).toMatchObject({ accepted: false, in_force: 'last_good', version })
    await world.cluster.patch('Gateway', 'team', 'main', { spec: { newer: null } })
    await untilConditions(world.cluster, place, ['Accepted=True/Accepted', 'Ready=True/Ready'])
  })
})
