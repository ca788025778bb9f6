import type { ClusterUser } from '../../../db/cluster-user.ts'
import type { Db } from '../../../db/query.ts'
import { reviewAccess } from './access-review.ts'
import { isAgent } from './callers.ts'
import type { KubeClient } from './kube-client.ts'

/**
 * Resolves whether a user of the cluster has the right to answer approvals of agents in the namespace ('' = agents
 * without a namespace). `isAsAdmin`: the answer also requires the right of an admin. Rejects with `not_ready` when the
 * API server does not answer.
 */
export type HasAnswerRight = (
  user: ClusterUser,
  answer: { readonly namespace: string; readonly isAsAdmin: boolean },
) => Promise<boolean>

/**
 * Creates the function that resolves whether a user has the right to answer, by SubjectAccessReviews. Governed pods and
 * their ServiceAccounts do not have this right.
 */
export function createAnswerRight({
  db,
  kube,
}: {
  readonly db: Db
  readonly kube: Pick<KubeClient, 'create'>
}): HasAnswerRight {
  return async (user, { namespace, isAsAdmin }) => {
    if (await isAgent(db, user)) return false
    if (!(await reviewAccess(kube, user, { right: 'approvals/answer', namespace }))) return false
    return !isAsAdmin || reviewAccess(kube, user, { right: 'settings/update', namespace: '' })
  }
}
