import { KubeConfig } from '@kubernetes/client-node'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import type { KubeApiServer } from '../../support/kube-api-server.ts'

export const OPERATOR_USER = 'system:serviceaccount:chaperone-system:chaperone-operator'
const ADMISSION = 'admissionregistration.k8s.io'
/** What the role of the operator has to say for the injector, the guard and the watchdog. */
export const OPERATOR_RULES = {
  cluster: [
    { apiGroups: [''], resources: ['pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch', 'create', 'patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['networking.k8s.io'],
      resources: ['networkpolicies'],
      verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['mutatingwebhookconfigurations'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingwebhookconfigurations'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingadmissionpolicies'],
      verbs: ['list', 'watch', 'create', 'get', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingadmissionpolicybindings'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
  ],
  own: [{ apiGroups: [''], resources: ['secrets'], verbs: ['create', 'get', 'update'] }],
}

/** What the role of the operator has to say for grants. */
export const GRANT_RULE = {
  ...{ apiGroups: ['chaperone.dev'], resources: ['permissions'], verbs: ['create', 'patch', 'delete'] },
}

/** The operator's ServiceAccount with exactly these rights. */
export async function operatorClient(
  server: KubeApiServer,
  admin: KubeClient,
  rules: readonly object[] = OPERATOR_RULES.cluster,
): Promise<KubeClient> {
  const [namespace, name] = ['chaperone-system', 'chaperone-operator']
  const rbac = { base: '/apis/rbac.authorization.k8s.io/v1', group: 'rbac.authorization.k8s.io' }
  const post = (path: string, body: object) =>
    admin.call<{ status: { token: string } }>({ method: 'POST', path, body })
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const roleRef = (kind: string) => ({ apiGroup: rbac.group, kind, name })
  const metadata = { name }
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata })
  await post(`${rbac.base}/clusterroles`, { metadata, rules })
  await post(`${rbac.base}/clusterrolebindings`, { metadata, subjects, roleRef: roleRef('ClusterRole') })
  await post(`${rbac.base}/namespaces/${namespace}/roles`, { metadata, rules: OPERATOR_RULES.own })
  await post(`${rbac.base}/namespaces/${namespace}/rolebindings`, {
    metadata,
    subjects,
    roleRef: roleRef('Role'),
  })
  const { status } = await post(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec: {} })
  const config = new KubeConfig()
  const cluster = { name: 'test', server: server.url, caData: Buffer.from(server.caPem).toString('base64') }
  config.loadFromClusterAndUser(
    { ...cluster, skipTLSVerify: false },
    { name: 'operator', token: status.token },
  )
  return createKubeClient(kubeconfigAccess(config))
}
