import type { Db } from '../store/query.ts'
import { hasOwner } from '../store/users.ts'

/** `session`: once there is an owner, the command line's token answers no approvals and changes no rules. */
export type ApprovalsMode = 'session' | 'token'

/** Whether the tokens of this machine are restricted now. An installation that has an owner keeps one. */
export function createTokenRestriction(db: Db, mode: ApprovalsMode): () => Promise<boolean> {
  let isRestricted = false
  return async () => {
    if (mode === 'token') return false
    isRestricted ||= await hasOwner(db)
    return isRestricted
  }
}
