import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { HoldBody } from '../../../../core/wire/gateway/hold.ts'
import type { Query } from '../../../db/query.ts'
import type { ConfirmAnswer } from '../answers/earlier-answers.ts'
import type { HoldOwner } from '../holds/input.ts'
import { instanceOf } from '../holds/service.ts'
import { grantKey } from './release-by-grant.ts'
import { findCoveringGrants, type GrantRow } from './store.ts'

/**
 * Returns the ids of the grants that cover a hold and whose answers are confirmed. Returns null without
 * `confirmAnswer`, because answers then need no confirmation. Users of the cluster have no account, so only the API
 * server can confirm their right to answer. Must be called before the transaction that opens the hold, because the
 * confirmation waits for other servers.
 */
export async function confirmGrants(
  q: Query,
  { owner, body }: { readonly owner: HoldOwner; readonly body: HoldBody },
  confirmAnswer: ConfirmAnswer | undefined,
): Promise<readonly string[] | null> {
  if (confirmAnswer === undefined) return null
  const key = grantKey({ owner, body, instance: await instanceOf(q, owner.podUid) })
  const grants = key === undefined ? [] : await findCoveringGrants(q, key)
  const ids = await Promise.all(
    grants.map(async (grant) => ((await isConfirmed(grant, confirmAnswer)) ? [grant.id] : [])),
  )
  return ids.flat()
}

/**
 * Reports whether all answers of the grant are confirmed. Returns false when a server does not answer; the request is
 * then held as if the grant did not exist.
 */
async function isConfirmed({ answers, agent }: GrantRow, confirmAnswer: ConfirmAnswer): Promise<boolean> {
  try {
    const each = await Promise.all(answers.map((answer) => confirmAnswer(answer, namespaceOf(agent))))
    return each.every(Boolean)
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'not_ready') return false
    throw error
  }
}
