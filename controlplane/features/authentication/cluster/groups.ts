import type { ClusterGroups } from '../../approvals/answers/answerable-sets.ts'
import { reviewAccess } from './access-review.ts'
import type { KubeClient } from './kube-client.ts'

/**
 * Creates the function that resolves whether RBAC lets a group answer approvals in a namespace, for example by a
 * RoleBinding to `chaperone-approver`. Only the authenticator of the cluster resolves the members of the group.
 */
export function createClusterGroups(kube: Pick<KubeClient, 'create'>): ClusterGroups {
  return (group, namespace) =>
    reviewAccess(kube, { groups: [group] }, { right: 'approvals/answer', namespace })
}
