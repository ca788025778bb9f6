import type { Db } from '../../db/query.ts'
import { hasOwner } from '../users/rows.ts'
import type { ApprovalsMode } from './settings.ts'

/**
 * Creates the function that resolves whether tokens that identify no user, such as the CLI token, are restricted. In
 * the mode `session`, these tokens are restricted once an owner exists, and always for operations that give access.
 */
export function createTokenRestriction(
  db: Db,
  mode: ApprovalsMode,
): (givesAccess: boolean) => Promise<boolean> {
  // The result is cached, because an installation never loses its owner.
  let isRestricted = false
  return async (givesAccess) => {
    if (mode === 'token' || givesAccess) return mode === 'session'
    isRestricted ||= await hasOwner(db)
    return isRestricted
  }
}
