import type { ClusterGroups } from '../../approvals/answers/answerable-sets.ts'
import { reviewAccess } from './access-review.ts'
import type { KubeClient } from './kube-client.ts'

/**
 * Asks RBAC whether a group as such may answer approvals in a namespace (a RoleBinding to `chaperone-approver`, say). Who is
 * in the group only the cluster's authenticator knows.
 */
export function createClusterGroups(kube: Pick<KubeClient, 'create'>): ClusterGroups {
  return (group, namespace) =>
    reviewAccess(kube, { groups: [group] }, { right: 'approvals/answer', namespace })
}
