import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { ClusterUser } from '../../../db/cluster-user.ts'
import type { Db } from '../../../db/query.ts'
import type { HasAnswerRight } from '../../authentication/cluster/answer-right.ts'
import type { ConfirmAccess } from '../../oidc/confirmation.ts'
import { identityState } from '../../oidc/rows.ts'
import type { ApprovalRow, StoredAnswer } from '../rows.ts'

/**
 * Resolves whether the user of a stored answer still has the right to give this answer. `namespace`: namespace of the
 * agent, '' for an agent without a namespace. Rejects with `not_ready` when the identity provider or the API server
 * does not answer.
 */
export type ConfirmAnswer = (answer: StoredAnswer, namespace: string) => Promise<boolean>

export type ConfirmAnswerDeps = {
  readonly db: Db
  /** Checks the right of a user of the cluster; null outside a cluster. */
  readonly hasAnswerRight: HasAnswerRight | null
  readonly confirmAccess: ConfirmAccess
}

/**
 * Creates the function that confirms stored answers. The API server confirms users of the cluster. The
 * identity provider confirms accounts if their last confirmation is older than five minutes.
 */
export function createConfirmAnswer({ db, hasAnswerRight, confirmAccess }: ConfirmAnswerDeps): ConfirmAnswer {
  return async (answer, namespace) => {
    const { user_id: id } = answer
    if (id === null) return true
    if (id.startsWith('cluster:'))
      return hasAnswerRight !== null && isAllowed(hasAnswerRight, answer, namespace)
    return (await confirmAccess({ id, identity: await identityState(db, id) })) !== 'ended'
  }
}

function isAllowed(
  hasAnswerRight: HasAnswerRight,
  answer: StoredAnswer,
  namespace: string,
): Promise<boolean> {
  const user = clusterUserOf(answer)
  // An admin may answer for a group without members, although the admin is not in this group.
  const isAsAdmin = answer.groups.some((group) => !user.groups.includes(group))
  return hasAnswerRight(user, { namespace, isAsAdmin })
}

/**
 * Returns the cluster user who gave an answer. An answer of an older version contains only the user name and the
 * groups.
 */
function clusterUserOf({ cluster_user: user, by, groups }: StoredAnswer): ClusterUser {
  return user ?? { username: by, groups: [...groups, 'system:authenticated'] }
}

/**
 * Returns the ids of users whose earlier answers have become void. Rejects with `not_ready` when an earlier answer
 * cannot be confirmed; the error names the user who gave the answer.
 */
export async function voidAnswers(
  { answers, agent }: ApprovalRow,
  confirmAnswer: ConfirmAnswer,
): Promise<readonly string[]> {
  const found = await Promise.all(
    answers.map(async (answer) => {
      const isConfirmed = await confirmAnswer(answer, namespaceOf(agent)).catch((error: unknown) => {
        throw unconfirmed(answer, error)
      })
      return isConfirmed || answer.user_id === null ? [] : [answer.user_id]
    }),
  )
  return found.flat()
}

function unconfirmed({ by }: StoredAnswer, cause: unknown): unknown {
  if (!(cause instanceof ChaperoneError && cause.code === 'not_ready')) return cause
  return new ChaperoneError('not_ready', {
    detail: `The earlier answer of ${by} cannot be confirmed, because the identity provider or the API of the cluster does not answer. Your answer was not stored. Try again in a moment.`,
    retryAfterS: 5,
    cause,
  })
}
