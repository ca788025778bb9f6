import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
const NAME = 'chaperone-emergency'
const role = (await resources(...LEAST)).find(
  ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'chaperone-kill-switch',
)

type Asked = { group?: string; resource?: string; name?: string; namespace?: string; verb: string }

describe.skipIf(kubeAssets() === null || helmProgram === null)(
  `the role of who may stop (${KUBE_ASSETS_HINT})`,
  () => {
    let server: KubeApiServer
    let cluster: Cluster
    beforeAll(async () => {
      server = await startKubeApiServer()
      cluster = openCluster(server)
      for (const namespace of ['team', 'other']) await cluster.namespace(namespace)
      await cluster.createRaw({ base: RBAC, plural: 'clusterroles' }, undefined, role ?? {})
      await cluster.createRaw({ base: RBAC, plural: 'rolebindings' }, 'team', {
        metadata: { name: 'on-call' },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'chaperone-kill-switch',
        },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'on-call' }],
      })
      // The authorizer reads its own cache of roles and bindings.
      await eventually('the binding is in force', async () => (await isAllowed({ verb: 'patch' })) || null)
    })
    afterAll(async () => {
      cluster?.[Symbol.dispose]()
      await server?.[Symbol.asyncDispose]()
    })

    async function isAllowed({ group = '', resource = 'configmaps', ...asked }: Asked): Promise<boolean> {
      const { status } = await cluster.client.call<{ status: { allowed: boolean } }>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            ...{ user: 'ann', groups: ['on-call'] },
            resourceAttributes: { namespace: 'team', name: NAME, group, resource, ...asked },
          },
        },
      })
      return status.allowed
    }

    test.each(['get', 'patch'])('allows to %s the emergency ConfigMap of the namespace', async (verb) => {
      expect(await isAllowed({ verb })).toBe(true)
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
      ...['gateways', 'connectors', 'permissions', 'policies'].map((resource) => ({
        ...{ verb: 'patch', group: 'chaperone.dev', resource },
      })),
      { verb: 'patch', resource: 'pods' },
    ])('allows nothing else: %j', async (asked) => {
      expect(await isAllowed(asked)).toBe(false)
    })
  },
)
