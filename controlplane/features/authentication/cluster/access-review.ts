import * as z from 'zod'
import { partsOfRight, type Right } from '../../../../core/wire/access/rights.ts'
import type { ClusterUser } from '../../../db/cluster-user.ts'
import type { KubeClient } from './kube-client.ts'

const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const AccessReviewed = z.object({ status: z.object({ allowed: z.boolean() }) })

/** The subject whose access is reviewed: a user with groups, or a single group. */
export type Subject = ClusterUser | { readonly groups: readonly [string] }

/**
 * Resolves whether RBAC grants a right on the resources of `chaperone.dev` in a namespace ('' = all namespaces), by a
 * SubjectAccessReview. Rejects with `not_ready` when the API server does not answer.
 */
export async function reviewAccess(
  kube: Pick<KubeClient, 'create'>,
  subject: Subject,
  { right, namespace }: { readonly right: Right; readonly namespace: string },
): Promise<boolean> {
  const resourceAttributes = { group: 'chaperone.dev', ...partsOfRight(right), namespace }
  const { username, ...rest } = { username: undefined, ...subject }
  const spec = { user: username, ...rest, resourceAttributes }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  return AccessReviewed.parse(await kube.create(ACCESS_REVIEWS, review)).status.allowed
}
