import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { grantObjectName } from '../../../core/crd/manifests/grant-permission.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { grantFor, revokeGrant } from '../../controlplane/approvals/granted.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { type ClusterWorld, SYSTEM, startClusterWorld, untilConditions } from './world.ts'

const OURS = 'chaperone.dev'
const KINDS = ['gateways', 'connectors', 'permissions', 'policies']
type Rule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }

/** In all namespaces. */
const CLUSTER_RULES: readonly Rule[] = [
  { apiGroups: [OURS], resources: KINDS, verbs: ['list', 'watch'] },
  { apiGroups: [OURS], resources: KINDS.map((kind) => `${kind}/status`), verbs: ['patch'] },
  { apiGroups: [OURS], resources: ['gateways'], verbs: ['patch'] },
  { apiGroups: [OURS], resources: ['permissions'], verbs: ['create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  {
    ...{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch', 'create', 'patch'] },
    resourceNames: ['chaperone-emergency'],
  },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
]
/** In its own namespace. */
const OWN_RULES: readonly Rule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    ...{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update'] },
    resourceNames: ['chaperone-operator'],
  },
]
/** Bound in single namespaces. */
const SECRET_RULES: readonly Rule[] = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'watch'] }]

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ACCOUNT = { kind: 'ServiceAccount', name: 'operator', namespace: SYSTEM }
const USER = `system:serviceaccount:${SYSTEM}:operator`

async function grant({ cluster }: ClusterWorld): Promise<void> {
  const role = (plural: string, namespace: string | undefined, name: string, rules: readonly Rule[]) =>
    cluster.createRaw({ base: RBAC, plural }, namespace, { metadata: { name }, rules })
  const bind = (plural: string, namespace: string | undefined, [kind, name]: readonly [string, string]) =>
    cluster.createRaw({ base: RBAC, plural }, namespace, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [ACCOUNT],
    })
  await role('clusterroles', undefined, 'chaperone-operator', CLUSTER_RULES)
  await role('clusterroles', undefined, 'chaperone-secret-reader', SECRET_RULES)
  await role('roles', SYSTEM, 'chaperone-operator', OWN_RULES)
  await bind('clusterrolebindings', undefined, ['ClusterRole', 'chaperone-operator'])
  await bind('rolebindings', SYSTEM, ['Role', 'chaperone-operator'])
  await bind('rolebindings', 'team', ['ClusterRole', 'chaperone-secret-reader'])
}

async function kubeconfigOf({ cluster, server }: ClusterWorld): Promise<string> {
  const accounts = { base: '/api/v1', plural: 'serviceaccounts' }
  await cluster.createRaw(accounts, SYSTEM, { metadata: { name: 'operator' } })
  const { status } = await cluster.client.call<{ status: { token: string } }>({
    method: 'POST',
    path: `${pathOf(accounts, SYSTEM, 'operator')}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600 },
    },
  })
  const file = join(server.folder, 'operator.kubeconfig')
  const ca = Buffer.from(server.caPem).toString('base64')
  const config = {
    clusters: [{ name: 'test', cluster: { server: server.url, 'certificate-authority-data': ca } }],
    users: [{ name: 'operator', user: { token: status.token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'operator' } }],
    'current-context': 'test',
  }
  await writeFile(file, JSON.stringify(config))
  return file
}

/** A pod with a sidecar that is deleted. */
async function comeAndGo({ cluster, replica }: ClusterWorld): Promise<void> {
  const isKnown = async () => {
    const { body } = await replica.operator('GET', '/api/operator/pods')
    return (body['pods'] as readonly unknown[]).length > 0
  }
  await cluster.createRaw({ base: '/api/v1', plural: 'serviceaccounts' }, 'team', {
    metadata: { name: 'default' },
  })
  await cluster.createRaw({ base: '/api/v1', plural: 'pods' }, 'team', {
    metadata: {
      ...{ name: 'bot', labels: { 'chaperone.dev/inject': 'injected' } },
      annotations: {
        ...{ 'chaperone.dev/gateway': 'prod', 'chaperone.dev/agent': 'bot' },
        'chaperone.dev/injected': JSON.stringify({ gateway: 'team/prod', agent: 'bot' }),
      },
    },
    spec: { containers: [{ name: 'agent', image: 'agent' }], automountServiceAccountToken: false },
  })
  await eventually('the pod is reported', async () => (await isKnown()) || null)
  await cluster.remove('Pod', 'team', 'bot')
  await eventually('its deletion is reported', async () => !(await isKnown()) || null)
}

/** A grant whose Permission is written and removed. */
async function grantAndRevoke({ cluster, replica }: ClusterWorld): Promise<void> {
  const gateway = await replica.enrol('team/prod')
  await replica.command(gateway, 'agents.register', { name: 'team/bot' })
  const { id } = await grantFor(replica, gateway, 'team/bot')
  const name = grantObjectName(id)
  await eventually('the Permission is written', () =>
    cluster.get('Permission', 'team', name).catch(() => null),
  )
  await untilConditions(cluster, ['Permission', 'team', name], ['Ready=True/Ready'])
  await revokeGrant(replica, id)
  await eventually('the Permission is removed', async () =>
    cluster.get('Permission', 'team', name).then(
      () => null,
      () => true,
    ),
  )
}

describe.skipIf(kubeAssets() === null)(`the rights of the operator (${KUBE_ASSETS_HINT})`, () => {
  test('are exactly those that it uses, and Secrets only where they are granted', async () => {
    await using world = await startClusterWorld()
    const { cluster } = world
    for (const name of ['team', 'tenant']) await cluster.namespace(name)
    await grant(world)
    const operator = await world.operator({ kubeconfig: await kubeconfigOf(world) })
    const credential = { secretRef: { name: 'codehost' } }
    for (const namespace of ['team', 'tenant']) {
      await cluster.createRaw({ base: '/api/v1', plural: 'secrets' }, namespace, {
        ...{ metadata: { name: 'codehost' }, data: { token: 'dG9rZW4=' } },
      })
      await cluster.create('Gateway', namespace, 'prod', {})
      await cluster.create('Connector', namespace, 'codehost', { type: 'codehost', credential })
    }
    const rule = { connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }
    await cluster.create('Permission', 'team', 'good', { gatewayRefs: [{ name: 'prod' }], rules: [rule] })
    await cluster.create('Permission', 'team', 'bad', { gatewayRefs: [{ name: 'nowhere' }], rules: [rule] })
    await cluster.create('Policy', 'team', 'p', {
      rules: [{ name: 'r', conditions: ['true'], decision: 'deny' }],
    })
    for (const namespace of ['team', 'tenant', SYSTEM])
      await eventually(`${namespace} has an emergency ConfigMap`, () =>
        cluster.get('ConfigMap', namespace, 'chaperone-emergency').catch(() => null),
      )
    await comeAndGo(world)
    await grantAndRevoke(world)
    await untilConditions(cluster, ['Connector', 'team', 'codehost'], ['Ready=True/Ready'])
    const refused = await untilConditions(
      cluster,
      ['Connector', 'tenant', 'codehost'],
      ['ResolvedRefs=False/SecretForbidden'],
    )
    expect(JSON.stringify(refused['status'])).toContain('chaperone-secret-reader')
    await untilConditions(cluster, ['Permission', 'team', 'good'], ['Ready=True/Ready'])
    await untilConditions(cluster, ['Permission', 'team', 'bad'], ['ResolvedRefs=False/GatewayNotFound'])
    await untilConditions(cluster, ['Policy', 'team', 'p'], ['Ready=True/Ready'])
    // As a former version left it: the operator removes the finalizer.
    const finalizers = ['chaperone.dev/gateway']
    await cluster.patch('Gateway', 'tenant', 'prod', { metadata: { finalizers } })
    await cluster.remove('Gateway', 'tenant', 'prod')
    await eventually('the Gateway is let go', async () =>
      cluster.get('Gateway', 'tenant', 'prod').then(
        () => null,
        () => true,
      ),
    )
    await operator[Symbol.asyncDispose]()
    const calls = await world.callsBy(USER)
    const denied = calls.filter(({ status }) => status === 403)
    expect(new Set(denied.map(({ call, namespace }) => `${call} in ${namespace}`))).toEqual(
      new Set(['get :secrets in tenant', 'watch :secrets in tenant']),
    )
    const granted = [...CLUSTER_RULES, ...OWN_RULES, ...SECRET_RULES].flatMap(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((each) => verbs.map((verb) => `${verb} ${group}:${each}`)),
        ),
    )
    // An apply of what is not there is a patch that needs the right to create.
    const used = new Set([
      ...calls.map(({ call }) => call),
      ...['create :configmaps', `create ${OURS}:permissions`],
    ])
    expect([...used].sort()).toEqual([...new Set(granted)].sort())
  })
})
