import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { SANDBOX_DEFINITION } from '../../support/sandbox-definitions.ts'
import { type ClusterWorld, ISOLATED, startClusterWorld } from './world.ts'

const CRDS = { base: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }
const SANDBOXES = { base: '/apis/agents.x-k8s.io/v1beta1', plural: 'sandboxes' }
const PODS = { base: '/api/v1', plural: 'pods' }
let world: ClusterWorld

/** A pod as the injector leaves it; there are no nodes, so it stays Pending. */
function injected(
  name: string,
  changes: { labels?: object; annotations?: object; finalizers?: string[] } = {},
) {
  return {
    metadata: {
      name,
      ...(changes.finalizers === undefined ? {} : { finalizers: changes.finalizers }),
      labels: changes.labels ?? { 'chaperone.dev/inject': 'injected', app: 'web' },
      annotations: {
        'chaperone.dev/gateway': 'prod',
        'chaperone.dev/agent': name,
        'chaperone.dev/injected': JSON.stringify({ gateway: 'team/prod', agent: name }),
        ...changes.annotations,
      },
    },
    spec: { containers: [{ name: 'agent', image: 'agent' }], automountServiceAccountToken: false },
  }
}

type Row = { pod_uid: string; agent: string; gateway: string; is_deleted: boolean }
const rows = async (name: string): Promise<readonly Row[]> =>
  (
    await world.replica.db.query<Row>(
      'select pod_uid, agent, gateway, deleted_at is not null as is_deleted from pod_identities where name = $1 order by reported_at',
      [name],
    )
  ).rows
const create = (name: string, changes = {}) => world.cluster.createRaw(PODS, 'team', injected(name, changes))
const remove = (name: string) => world.cluster.remove('Pod', 'team', name)
const known = (name: string) =>
  eventually(`${name} is reported`, async () => ((await rows(name)).length > 0 ? rows(name) : null))
const deleted = (name: string) =>
  eventually(
    `${name} is reported as deleted`,
    async () => (await rows(name)).some((row) => row.is_deleted) || null,
  )

describe.skipIf(kubeAssets() === null)(`pods with a sidecar (${KUBE_ASSETS_HINT})`, () => {
  beforeAll(async () => {
    world = await startClusterWorld()
    await world.cluster.namespace('team')
    await world.cluster.createRaw({ base: '/api/v1', plural: 'serviceaccounts' }, 'team', {
      metadata: { name: 'default' },
    })
    await create('early')
    await world.operator({ isAdmitting: true })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('whose traffic cannot be captured have an Event with the reason, and degrade their Gateway', async () => {
    await world.cluster.create('Gateway', 'team', 'prod', {})
    await create('uncaptured')
    const message = 'gVisor admits the capture rules only where the node sets net-raw = "true" in runsc.toml.'
    const setter = {
      ...{ name: 'chaperone-rules', ready: false, restartCount: 1, image: '', imageID: '' },
      lastState: { terminated: { exitCode: 1, message } },
    }
    await world.cluster.client.call({
      ...{ method: 'PATCH', path: '/api/v1/namespaces/team/pods/uncaptured/status' },
      contentType: 'application/merge-patch+json',
      body: { status: { initContainerStatuses: [setter] } },
    })
    const event = await eventually('the Event', async () => {
      const path = '/apis/events.k8s.io/v1/namespaces/team/events'
      type Events = { items: { reason: string; note: string; regarding: { kind: string; name: string } }[] }
      const { items } = await world.cluster.client.call<Events>({ method: 'GET', path })
      return items.find(({ reason }) => reason === 'CaptureFailed') ?? null
    })
    expect(event.regarding).toMatchObject({ kind: 'Pod', name: 'uncaptured' })
    expect(event.note).toContain(message)
    type Status = { layer?: string; conditions?: { type: string; reason: string; message: string }[] }
    const status = await eventually('the condition', async () => {
      const { status: found } = (await world.cluster.get('Gateway', 'team', 'prod')) as { status?: Status }
      return found?.conditions?.some(({ reason }) => reason === 'CaptureFailed') ? found : null
    })
    expect(status.layer).toBe('Unproven')
    expect(status.conditions?.find(({ type }) => type === 'Degraded')?.message).toContain(
      `team/uncaptured: ${message}`,
    )
  })

  test('with proxyEnv are isolated by the status only where the NetworkPolicy is stored', async () => {
    await world.cluster.namespace(ISOLATED)
    await world.cluster.createRaw({ base: '/api/v1', plural: 'serviceaccounts' }, ISOLATED, {
      metadata: { name: 'default' },
    })
    await world.cluster.create('Gateway', 'team', 'stricter', { interception: 'transparent' })
    const labels = {
      'chaperone.dev/inject': 'injected',
      'chaperone.dev/layer': 'IsolatedByNetworkPolicy',
    }
    const proxied = (name: string) => {
      const written = JSON.stringify({ gateway: 'team/stricter', agent: name })
      return injected(name, { labels, annotations: { 'chaperone.dev/injected': written } })
    }
    type Status = { layer?: string; conditions?: { type: string; reason: string; message: string }[] }
    const shown = (layer: string) =>
      eventually(`the layer ${layer}`, async () => {
        const found = (await world.cluster.get('Gateway', 'team', 'stricter')) as { status?: Status }
        if (found.status?.layer !== layer) return null
        return found.status.conditions?.find(({ type }) => type === 'BypassPossible') ?? null
      })
    await world.cluster.createRaw(PODS, ISOLATED, proxied('held'))
    expect(await shown('IsolatedByNetworkPolicy')).toMatchObject({ reason: 'PodsIsolated' })
    await world.cluster.createRaw(PODS, 'team', proxied('loose'))
    const { reason, message } = await shown('Cooperative')
    expect(reason).toBe('PodsCooperative')
    expect(message).toContain('Namespaces: team;')
    await remove('loose')
    await shown('IsolatedByNetworkPolicy')
  })

  test('that were created before inbound: deny are named by the status until they have ended', async () => {
    await world.cluster.create('Gateway', 'team', 'inward', { interception: 'transparent' })
    const admitting = (name: string, labels: object) => {
      const written = JSON.stringify({ gateway: 'team/inward', agent: name })
      return injected(name, {
        labels: { 'chaperone.dev/inject': 'injected', ...labels },
        annotations: { 'chaperone.dev/injected': written },
      })
    }
    type Status = { conditions?: { type: string; reason: string; message: string }[] }
    const shown = (what: string, holds: (message: string) => boolean) =>
      eventually(what, async () => {
        const { status } = (await world.cluster.get('Gateway', 'team', 'inward')) as { status?: Status }
        const found = status?.conditions?.find(({ type }) => type === 'BypassPossible')
        return found !== undefined && holds(found.message) ? found : null
      })
    await world.cluster.createRaw(PODS, 'team', admitting('before-deny', {}))
    await world.cluster.createRaw(PODS, 'team', admitting('denied', { 'chaperone.dev/inbound': 'deny' }))
    await shown('the pods are known', (message) => message.includes('vsock'))
    await world.cluster.patch('Gateway', 'team', 'inward', { spec: { inbound: 'deny' } })
    const { message } = await shown('the pod is named', (text) => text.includes('team/before-deny'))
    expect(message).toContain('restart the pods: team/before-deny')
    expect(message).not.toContain('team/denied')
    await remove('before-deny')
    await shown('no pod is named', (text) => !text.includes('before-deny') && text.includes('vsock'))
    await remove('denied')
  })

  test('are reported with agent and Gateway, existing and new ones', async () => {
    expect(await known('early')).toMatchObject([
      { agent: 'team/early', gateway: 'team/prod', is_deleted: false },
    ])
    const { metadata } = await create('late')
    expect(await known('late')).toMatchObject([{ pod_uid: metadata.uid, agent: 'team/late' }])
  })

  test.each([
    ['without the label', { labels: { app: 'web' } }],
    ['with another value of the label', { labels: { 'chaperone.dev/inject': 'enabled' } }],
    ['without what the injector writes', { annotations: { 'chaperone.dev/injected': '{}' } }],
    ['with something else than JSON there', { annotations: { 'chaperone.dev/injected': 'team/prod' } }],
    ['with an agent that the injector did not write', { annotations: { 'chaperone.dev/agent': 'cashier' } }],
    ['with a Gateway that the injector did not write', { annotations: { 'chaperone.dev/gateway': 'lax' } }],
    [
      'with the Gateway of another namespace there',
      { annotations: { 'chaperone.dev/gateway': 'other/prod' } },
    ],
  ])('are not reported %s', async (what, changes) => {
    const name = `forged-${what.replace(/[^a-z]+/gi, '-').toLowerCase()}`.slice(0, 60).replace(/-+$/, '')
    await create(name, changes)
    // The operator sees pods in the order in which they were created.
    await create(`after-${name}`.slice(0, 60).replace(/-+$/, ''))
    await known(`after-${name}`.slice(0, 60).replace(/-+$/, ''))
    expect(await rows(name)).toEqual([])
  })

  test('are reported as deleted when the object is gone, not when its deletion begins', async () => {
    await create('leaving', { finalizers: ['example.com/wait'] })
    await known('leaving')
    await remove('leaving')
    const { metadata } = await world.cluster.get('Pod', 'team', 'leaving')
    expect(metadata.deletionTimestamp).toBeDefined()
    await create('after-leaving')
    await known('after-leaving')
    expect(await rows('leaving')).toMatchObject([{ is_deleted: false }])
    await world.cluster.patch('Pod', 'team', 'leaving', { metadata: { finalizers: null } })
    await deleted('leaving')
  })

  test('are not reported as deleted when only the label is removed', async () => {
    await create('unlabelled')
    await known('unlabelled')
    await world.cluster.patch('Pod', 'team', 'unlabelled', {
      metadata: { labels: { 'chaperone.dev/inject': null } },
    })
    await create('after-unlabelled')
    await known('after-unlabelled')
    expect(await rows('unlabelled')).toMatchObject([{ is_deleted: false }])
    await remove('unlabelled')
    await deleted('unlabelled')
  })

  test('keep their first report, and a successor of the same name has its own UID', async () => {
    const first = await create('set-0')
    await known('set-0')
    await world.cluster.patch('Pod', 'team', 'set-0', {
      metadata: {
        annotations: {
          'chaperone.dev/agent': 'cashier',
          'chaperone.dev/injected': JSON.stringify({ gateway: 'team/prod', agent: 'cashier' }),
        },
      },
    })
    await remove('set-0')
    const second = await create('set-0')
    const both = await eventually('both are reported', async () => {
      const found = await rows('set-0')
      return found.length === 2 && found[0]?.is_deleted ? found : null
    })
    expect(both).toMatchObject([
      { pod_uid: first.metadata.uid, agent: 'team/set-0' },
      { pod_uid: second.metadata.uid, agent: 'team/set-0', is_deleted: false },
    ])
  })

  test('that were deleted while no operator ran are reported by the next one', async () => {
    await create('unwatched')
    const [row] = await known('unwatched')
    const lost = { podUid: 'uid-of-long-ago', namespace: 'team', name: 'long-ago', deleted: false }
    await world.replica.operator('POST', '/api/operator/pods', {
      pods: [{ ...lost, agent: 'team/long-ago', gateway: 'team/prod' }],
    })
    await world.operator()
    await deleted('long-ago')
    expect(await rows('unwatched')).toEqual([row])
  })

  test('get one Event while the control plane refuses their sidecar', async () => {
    const { metadata } = await create('stranger', { labels: { app: 'web' } })
    world.replica.refusedPods.push({ podUid: metadata.uid, namespace: 'team', name: 'stranger' })
    type Events = { items: ReadonlyArray<{ reason: string; note: string; regarding: { uid: string } }> }
    const read = async () => {
      const path = '/apis/events.k8s.io/v1/namespaces/team/events'
      const { items } = await world.cluster.client.call<Events>({ method: 'GET', path })
      return items.filter(({ regarding }) => regarding.uid === metadata.uid)
    }
    const events = await eventually('an Event', async () => ((await read()).length > 0 ? read() : null))
    expect(events).toMatchObject([
      { reason: 'SidecarRefused', note: expect.stringContaining('Create the pod again') },
    ])
  })

  test('are reported with their Sandbox, and with the claim that adopts it', async () => {
    await world.cluster.createRaw(CRDS, undefined, SANDBOX_DEFINITION)
    const unowned = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', metadata: { name: 'warm' } }
    const { metadata } = await eventually('Sandboxes are served', () =>
      world.cluster.createRaw(SANDBOXES, 'team', unowned).catch(() => null),
    )
    const owner = { apiVersion: unowned.apiVersion, kind: 'Sandbox', name: 'warm', uid: metadata.uid }
    const pod = injected('warm')
    await world.cluster.createRaw(PODS, 'team', {
      ...pod,
      metadata: { ...pod.metadata, ownerReferences: [{ ...owner, controller: true }] },
    })
    await known('warm')
    const owners = async () =>
      (await world.replica.db.query("select sandbox, claim from pod_identities where name = 'warm'", [])).rows
    expect(await owners()).toEqual([{ sandbox: { name: 'warm', uid: metadata.uid }, claim: null }])
    const claim = {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxClaim',
      name: 'alice',
      uid: 'u',
    }
    await world.cluster.client.call({
      ...{
        method: 'PATCH',
        path: pathOf(SANDBOXES, 'team', 'warm'),
        contentType: 'application/merge-patch+json',
      },
      body: { metadata: { ownerReferences: [{ ...claim, controller: true }] } },
    })
    const adopted = { sandbox: { name: 'warm', uid: metadata.uid }, claim: { name: 'alice', uid: 'u' } }
    await eventually('the claim is reported', async () => (await owners())[0]?.['claim'] ?? null)
    expect(await owners()).toEqual([adopted])
  })

  test('are watched as metadata only', async () => {
    const found = await world.cluster.client.call<{ spec?: object; metadata: object }>({
      ...{ method: 'GET', path: '/api/v1/namespaces/team/pods/early', metadata: 'object' },
    })
    expect([found.spec, 'name' in found.metadata]).toEqual([undefined, true])
  })
})
