import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Sandboxes, startSandboxes } from '../../../../operator/cluster/pods/sandboxes.ts'
import { pathOf } from '../../../../operator/kube/objects.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../../support/kube-api-server.ts'
import { SANDBOX_DEFINITION, TEMPLATE_DEFINITION } from '../../../support/sandbox-definitions.ts'
import { type Cluster, openCluster } from '../../kube/cluster.ts'

const CRDS = { base: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }
const SANDBOXES = { base: '/apis/agents.x-k8s.io/v1beta1', plural: 'sandboxes' }
const TEMPLATES = { base: '/apis/extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxtemplates' }
const QUICK = { watchS: [60, 60], idleMs: 60_000, minMs: 50, maxMs: 500 } as const

let server: KubeApiServer
let cluster: Cluster
let sandboxes: Sandboxes
let changes = 0
const changed = new Set<string>()

async function install(): Promise<void> {
  await cluster.createRaw(CRDS, undefined, SANDBOX_DEFINITION)
  await cluster.createRaw(CRDS, undefined, TEMPLATE_DEFINITION)
  for (const resource of [SANDBOXES, TEMPLATES])
    await eventually(`${resource.plural} are served`, () =>
      cluster.client.call({ method: 'GET', path: pathOf(resource) }).then(
        () => true,
        () => null,
      ),
    )
}

const owned = (kind: string) => [
  { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind, name: 'o', uid: 'o', controller: true },
]

function sandbox(name: string, metadata: object = {}) {
  return { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', metadata: { name, ...metadata } }
}

function template(name: string, annotations: object) {
  const podTemplate = { metadata: { annotations } }
  return {
    ...{ apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', metadata: { name } },
    spec: { podTemplate },
  }
}

const known = (name: string) =>
  eventually(`Sandbox ${name} is cached`, () => sandboxes.sandboxOf('team', name) ?? null)

describe.skipIf(kubeAssets() === null)(`objects of agent-sandbox (${KUBE_ASSETS_HINT})`, () => {
  beforeAll(async () => {
    server = await startKubeApiServer()
    cluster = openCluster(server)
    await cluster.namespace('team')
    sandboxes = startSandboxes({
      client: cluster.client,
      log: pino({ level: 'silent' }),
      metrics: { restarted: () => undefined, relisted: () => undefined },
      timing: QUICK,
      onTemplate: () => {
        changes++
      },
      onSandbox: (key) => changed.add(key),
    })
  })
  afterAll(async () => {
    await sandboxes?.stop()
    cluster?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  test('are unknown without agent-sandbox', async () => {
    expect(sandboxes.sandboxOf('team', 'alice')).toBeUndefined()
    expect(sandboxes.templateOf('team', 'research')).toBeUndefined()
    await eventually('no template is known', () => (sandboxes.templateNamespaces()?.size === 0 ? true : null))
  })

  test('are known soon after agent-sandbox was installed, and change with their objects', async () => {
    await install()
    const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'research' }
    await cluster.createRaw(
      TEMPLATES,
      'team',
      template('research', { 'chaperone.dev/agent': 'librarian', 'chaperone.dev/gateway': 'main' }),
    )
    const claimed = await cluster.createRaw(
      SANDBOXES,
      'team',
      sandbox('alice', { annotations, ownerReferences: owned('SandboxClaim') }),
    )
    const own = await cluster.createRaw(SANDBOXES, 'team', sandbox('lab', { annotations }))
    expect(await known('alice')).toEqual({
      uid: claimed.metadata.uid,
      isTemplated: true,
      template: 'research',
      claim: { name: 'o', uid: 'o' },
      pool: null,
    })
    expect(changed).toContain('team/alice')
    expect(await known('lab')).toEqual({
      uid: own.metadata.uid,
      isTemplated: false,
      template: null,
      claim: null,
      pool: null,
    })
    const found = await eventually('the template is cached', () => {
      const each = sandboxes.templateOf('team', 'research')
      return each?.agent ? each : null
    })
    expect(found).toEqual({ agent: 'librarian', gateway: 'main' })
    expect(sandboxes.versionOf('team', 'lab')).toBe(own.metadata.resourceVersion)
    expect(sandboxes.templateNamespaces()).toEqual(new Set(['team']))
    expect(changes).toBeGreaterThan(0)
    expect(sandboxes.templateOf('team', 'another')).toEqual({ agent: null, gateway: null })
    await cluster.client.call({ method: 'DELETE', path: pathOf(SANDBOXES, 'team', 'alice') })
    await eventually('the deleted Sandbox is forgotten', () =>
      sandboxes.sandboxOf('team', 'alice') === undefined ? true : null,
    )
  })

  test('are unknown after agent-sandbox was removed, and known again when it is back', async () => {
    const path = pathOf(CRDS, undefined, 'sandboxes.agents.x-k8s.io')
    await cluster.client.call({ method: 'DELETE', path })
    await eventually('the Sandbox is forgotten', () =>
      sandboxes.sandboxOf('team', 'lab') === undefined ? true : null,
    )
    await eventually('the definition is gone', () =>
      cluster.client.call({ method: 'GET', path }).then(
        () => null,
        () => true,
      ),
    )
    await cluster.createRaw(CRDS, undefined, SANDBOX_DEFINITION)
    await eventually('a new Sandbox is accepted', () =>
      cluster.createRaw(SANDBOXES, 'team', sandbox('lab')).catch(() => null),
    )
    expect(await known('lab')).toMatchObject({ isTemplated: false })
  })
})
