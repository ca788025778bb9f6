import * as z from 'zod'
import { partsOfRight } from '../../core/wire/rights.ts'
import type { ClusterGroups } from './answerable-sets.ts'
import type { KubeClient } from './kube-client.ts'

const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const AccessReviewed = z.object({ status: z.object({ allowed: z.boolean() }) })

/**
 * Asks RBAC whether a group as such may answer approvals in a namespace (a RoleBinding to `chaperone-approver`, say). Who is
 * in the group only the cluster's authenticator knows.
 */
export function createClusterGroups(kube: Pick<KubeClient, 'create'>): ClusterGroups {
  return async (group, namespace) => {
    const resourceAttributes = { group: 'chaperone.dev', ...partsOfRight('approvals/answer'), namespace }
    const spec = { groups: [group], resourceAttributes }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    return AccessReviewed.parse(await kube.create(ACCESS_REVIEWS, review)).status.allowed
  }
}
