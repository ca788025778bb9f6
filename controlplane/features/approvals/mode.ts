import type { Db } from '../../db/query.ts'
import { hasOwner } from '../users/store.ts'

/** `session`: once there is an owner, the command line's token answers no approvals and changes no rules. */
export type ApprovalsMode = 'session' | 'token'

/** Whether the tokens of this machine are restricted now; for what gives access, without an owner, too. */
export function createTokenRestriction(
  db: Db,
  mode: ApprovalsMode,
): (givesAccess: boolean) => Promise<boolean> {
  // An installation that has an owner keeps one.
  let isRestricted = false
  return async (givesAccess) => {
    if (mode === 'token' || givesAccess) return mode === 'session'
    isRestricted ||= await hasOwner(db)
    return isRestricted
  }
}
