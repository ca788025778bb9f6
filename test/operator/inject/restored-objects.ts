import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { createNamespace } from '../../support/kube-objects.ts'
import type { AdmissionWorld, Event } from './admission-world.ts'

/**
 * Tests of objects of the guard that another client deletes or changes. They have no deadline, because the machine may
 * be busy: guard-restoration.test.ts proves that the watch causes the restoration, and the suite on a cluster measures
 * the 5 s.
 */
export function describeRestoredObjects(world: AdmissionWorld): void {
  it('restores deleted objects of the guard, with one Event each', async () => {
    const admission = '/apis/admissionregistration.k8s.io/v1'
    const paths = [
      `${admission}/mutatingwebhookconfigurations/chaperone-injector`,
      `${admission}/validatingwebhookconfigurations/chaperone-manifests`,
      `${admission}/validatingadmissionpolicies/chaperone-pods`,
      `${admission}/validatingadmissionpolicybindings/chaperone-pods`,
      '/api/v1/namespaces/team/configmaps/chaperone-control-plane-ca',
    ]
    type Stored = { metadata: { uid: string; name: string } }
    const read = (path: string) => world.client.call<Stored>({ method: 'GET', path })
    const second = await world.start('registry.example:5000/chaperone:1')
    await world.ready(second)
    const before = await Promise.all(paths.map(read))
    // All at once: webhook and policies are away together.
    await Promise.all(paths.map((path) => world.client.call({ method: 'DELETE', path })))
    for (const [at, path] of paths.entries())
      await eventually(`${path} is back`, async () => {
        const now = await read(path).catch(() => null)
        return now !== null && now.metadata.uid !== before[at]?.metadata.uid ? true : null
      })
    await eventually('the Events are written', async () => {
      const listed = await Promise.all(
        ['team', 'default'].map((namespace) =>
          world.client.call<{ items: Event[] }>({
            method: 'GET',
            path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
          }),
        ),
      )
      const about = listed.flatMap(({ items }) => items).filter(({ reason }) => reason === 'GuardDeleted')
      const kinds = about.map(({ regarding }) => `${regarding.kind} ${regarding.name}`).sort()
      return new Set(kinds).size >= paths.length ? kinds : null
    }).then((kinds) =>
      expect(kinds).toEqual([
        'ConfigMap chaperone-control-plane-ca',
        'MutatingWebhookConfiguration chaperone-injector',
        'ValidatingAdmissionPolicy chaperone-pods',
        'ValidatingAdmissionPolicyBinding chaperone-pods',
        'ValidatingWebhookConfiguration chaperone-manifests',
      ]),
    )
    await second[Symbol.asyncDispose]()
  })

  it('restores changed objects of the guard, with one Event each that names the client', async () => {
    const admission = '/apis/admissionregistration.k8s.io/v1'
    const merge = (path: string, body: object, by = world.client) =>
      by.call({
        ...{ method: 'PATCH' as const, path, body, query: { fieldManager: 'intruder' } },
        contentType: 'application/merge-patch+json',
      })
    type Stored = {
      readonly metadata: object
      readonly [field: string]: unknown
    }
    const read = async (path: string) => {
      const { metadata, ...content } = await world.client.call<Stored>({ method: 'GET', path })
      // Each replica of this test writes its own port.
      return JSON.stringify({ ...content, status: undefined }).replaceAll(/127\.0\.0\.1:\d+/g, '')
    }
    const open = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['pods'] }
    const changes = [
      [`${admission}/mutatingwebhookconfigurations/chaperone-injector`, { webhooks: [] }],
      [
        `${admission}/validatingadmissionpolicybindings/chaperone-pods`,
        { spec: { validationActions: ['Warn'] } },
      ],
      // A field that the operator does not write, so that an apply alone keeps it.
      [
        `${admission}/validatingadmissionpolicies/chaperone-pods`,
        { spec: { matchConstraints: { excludeResourceRules: [open] } } },
      ],
    ] as const
    const trust = '/api/v1/namespaces/team/configmaps/chaperone-control-plane-ca'
    const paths = [...changes.map(([path]) => path), trust]
    const second = await world.start('registry.example:5000/chaperone:1')
    await world.ready(second)
    const before = await Promise.all(paths.map(read))
    for (const [path, body] of changes) await merge(path, body)
    // The admission policies refuse everyone but the operator.
    await merge(trust, { data: { 'ca.crt': 'other' } }, world.own)
    for (const [at, path] of paths.entries())
      await eventually(`${path} is as before`, async () => ((await read(path)) === before[at] ? true : null))
    const nameOf = ({ regarding }: Event) => `${regarding.kind} ${regarding.name}`
    const isNamed = ({ note }: Event) => note.includes('changed by intruder')
    // A replica that reads an object between two writes of the other one adds an Event that names no client.
    const events = await eventually('the Events are written', async () => {
      const listed = await Promise.all(
        ['team', 'default'].map((namespace) =>
          world.client.call<{ items: Event[] }>({
            method: 'GET',
            path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
          }),
        ),
      )
      const about = listed.flatMap(({ items }) => items).filter(({ reason }) => reason === 'GuardChanged')
      const areAllThere =
        new Set(about.map(nameOf)).size >= paths.length && about.filter(isNamed).length >= paths.length - 1
      return areAllThere ? about : null
    })
    expect([...new Set(events.map(nameOf))].sort()).toEqual([
      'ConfigMap chaperone-control-plane-ca',
      'MutatingWebhookConfiguration chaperone-injector',
      'ValidatingAdmissionPolicy chaperone-pods',
      'ValidatingAdmissionPolicyBinding chaperone-pods',
    ])
    // The API server names no client that only removes fields.
    expect(
      events
        .filter(isNamed)
        .map(({ regarding }) => regarding.kind)
        .sort(),
    ).toEqual(['ConfigMap', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'])
    const versions = () =>
      Promise.all(
        changes.map(async ([path]) => {
          type Versioned = { readonly metadata: { readonly generation: number } }
          return (await world.client.call<Versioned>({ method: 'GET', path })).metadata.generation
        }),
      )
    // The two replicas do not go on to overwrite each other.
    await eventually('the replicas write no more', async () => {
      const now = await versions()
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return JSON.stringify(await versions()) === JSON.stringify(now) ? true : null
    })
    await second[Symbol.asyncDispose]()
  })

  it('restores no trust bundle in a namespace that is being deleted', async () => {
    await createNamespace(world.client, 'ending')
    const path = '/api/v1/namespaces/ending/configmaps/chaperone-control-plane-ca'
    world.gateways = [
      world.main,
      { ...world.main, metadata: { ...world.main.metadata, namespace: 'ending' } },
    ]
    const isThere = () => world.client.call<object>({ method: 'GET', path }).catch(() => null)
    await eventually('the trust bundle is published', isThere)
    await world.client.call({ method: 'DELETE', path: '/api/v1/namespaces/ending' })
    await world.client.call({ method: 'DELETE', path }).catch(() => undefined)
    world.gateways = [world.main]
    // A bundle that is deleted later is back, so the deletion of this one was seen.
    const later = path.replace('ending', 'team')
    const uid = async () =>
      (
        await world.client
          .call<{ metadata: { uid: string } }>({ method: 'GET', path: later })
          .catch(() => null)
      )?.metadata.uid
    const before = await uid()
    await world.client.call({ method: 'DELETE', path: later })
    await eventually('the trust bundle of the other namespace is back', async () => {
      const now = await uid()
      return now !== undefined && now !== before ? true : null
    })
    expect(await isThere()).toBeNull()
  })
}
