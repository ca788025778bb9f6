import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import type { Query } from '../../../db/query.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { cancelApprovals } from '../cancellation/store.ts'
import { detailsOf } from './make-grant.ts'
import { lockUnspentHolds, revokeGrant } from './store.ts'

export type EndedGrant = {
  readonly id: string
  readonly orgId: string
  readonly by: string
  readonly actor: Actor
}

/**
 * Revokes a grant, and cancels the holds that the grant released and that no request has used. Returns false when the
 * grant was revoked before.
 */
export async function endGrant(q: Query, { id, orgId, by, actor }: EndedGrant): Promise<boolean> {
  const row = await revokeGrant(q, id, by)
  if (row === undefined) return false
  const unspent = await lockUnspentHolds(q, id, LIMITS.approvedRetryWindowS)
  await cancelApprovals(q, unspent, { by, via: 'grant', note: `Grant ${id} was revoked.` })
  const details = { ...detailsOf(row), gateway: row.gateway, cancelled_approvals: unspent }
  await recordEvent(q, { orgId, actor, type: 'grant.revoked', details })
  return true
}
