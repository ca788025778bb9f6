import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasRole, partsOfRight, RIGHTS, type Right, type Role } from '../../../core/wire/access/rights.ts'
import { helmProgram, LEAST, resources } from '../../helm/chart.ts'
import { eventually } from '../../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { type Cluster, openCluster } from '../kube/cluster.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const GROUP = 'rbac.authorization.k8s.io'
const EMERGENCY = 'chaperone-emergency'
const NAMES = ['view', 'edit', 'approver', 'kill-switch', 'admin']
const ALL = Object.keys(RIGHTS) as Right[]
const upTo = (role: Role) => ALL.filter((right) => hasRole(role, RIGHTS[right].role))
const KINDS = ['gateways', 'connectors', 'permissions', 'policies']
const onKinds = (verb: string) => ALL.filter((right) => KINDS.some((kind) => right === `${kind}/${verb}`))

type Asked = { group?: string; resource?: string; name?: string; namespace?: string; verb: string }

const WANTED: ReadonlyArray<readonly [name: string, rights: readonly Right[]]> = [
  ['view', [...upTo('viewer'), ...onKinds('get')]],
  ['edit', onKinds('update')],
  ['approver', ['approvals/get', 'approvals/answer', 'records/get', 'explanations/get']],
  ['kill-switch', ['killswitches/get', 'killswitches/activate']],
  ['admin', upTo('admin')],
]

describe.skipIf(kubeAssets() === null || helmProgram === null)(
  `the ClusterRoles of the chart on an API server (${KUBE_ASSETS_HINT})`,
  () => {
    let server: KubeApiServer
    let cluster: Cluster

    beforeAll(async () => {
      server = await startKubeApiServer()
      cluster = openCluster(server)
      for (const namespace of ['team', 'other']) await cluster.namespace(namespace)
      const all = await resources(...LEAST)
      for (const name of NAMES) {
        const role = all.find(
          ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === `chaperone-${name}`,
        )
        await cluster.createRaw({ base: RBAC, plural: 'clusterroles' }, undefined, role ?? {})
        await cluster.createRaw({ base: RBAC, plural: 'rolebindings' }, 'team', {
          metadata: { name },
          roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: `chaperone-${name}` },
          subjects: [{ apiGroup: GROUP, kind: 'Group', name }],
        })
      }
      // The authorizer reads its own cache of roles and bindings.
      const isReady = async (name: string, right: Right) => (await isAllowed(name, right, 'team')) || null
      for (const [name, [right]] of WANTED)
        if (right !== undefined) await eventually(`${name} is bound`, () => isReady(name, right))
    })
    afterAll(async () => {
      cluster?.[Symbol.dispose]()
      await server?.[Symbol.asyncDispose]()
    })

    function isAllowed(group: string, right: Right, namespace: string): Promise<boolean> {
      return isAnyAllowed(group, { namespace, group: 'chaperone.dev', ...partsOfRight(right) })
    }

    async function isAnyAllowed(group: string, resourceAttributes: Asked): Promise<boolean> {
      const { status } = await cluster.client.call<{ status: { allowed: boolean } }>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: { user: 'ann', groups: [group], resourceAttributes },
        },
      })
      return status.allowed
    }

    async function grantedIn(name: string, namespace: string): Promise<readonly Right[]> {
      const answers = await Promise.all(ALL.map((right) => isAllowed(name, right, namespace)))
      return ALL.filter((_, index) => answers[index])
    }

    test.each(WANTED)(
      'chaperone-%s grants these rights where it is bound, and nothing elsewhere',
      async (name, wanted) => {
        expect((await grantedIn(name, 'team')).toSorted()).toEqual([...new Set(wanted)].toSorted())
        expect(await grantedIn(name, 'other')).toEqual([])
      },
    )

    describe('the role of users who may activate the kill switch', () => {
      const isPermitted = (asked: Asked) =>
        isAnyAllowed('kill-switch', {
          ...{ namespace: 'team', name: EMERGENCY, group: '', resource: 'configmaps' },
          ...asked,
        })

      test.each(['get', 'patch'])('allows to %s the emergency ConfigMap of the namespace', async (verb) => {
        expect(await isPermitted({ verb })).toBe(true)
      })

      test.each<Asked>([
        ...['create', 'update', 'delete', 'list', 'watch', 'deletecollection'].map((verb) => ({ verb })),
        { verb: 'patch', name: 'kube-root-ca.crt' },
        { verb: 'patch', name: '' },
        { verb: 'get', name: 'chaperone-control-plane-ca' },
        { verb: 'patch', namespace: 'other' },
        { verb: 'get', namespace: 'other' },
        { verb: 'patch', resource: 'secrets' },
        { verb: 'get', resource: 'secrets' },
        ...KINDS.map((resource) => ({ verb: 'patch', group: 'chaperone.dev', resource })),
        { verb: 'patch', resource: 'pods' },
      ])('allows nothing else: %j', async (asked) => {
        expect(await isPermitted(asked)).toBe(false)
      })
    })
  },
)
