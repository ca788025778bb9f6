import type { Db } from '../../db/query.ts'
import { hasOwner } from '../users/rows.ts'

/** Restriction of the CLI token. `session`: once an owner exists, it answers no approvals and changes no rules. */
export type ApprovalsMode = 'session' | 'token'

/**
 * Resolves whether the tokens of this machine are restricted. In the mode `session`, operations that give access are
 * restricted even without an owner.
 */
export function createTokenRestriction(
  db: Db,
  mode: ApprovalsMode,
): (givesAccess: boolean) => Promise<boolean> {
  // Cached: an installation never loses its owner.
  let isRestricted = false
  return async (givesAccess) => {
    if (mode === 'token' || givesAccess) return mode === 'session'
    isRestricted ||= await hasOwner(db)
    return isRestricted
  }
}
