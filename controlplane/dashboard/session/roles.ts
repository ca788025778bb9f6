import type { Role } from '../../../core/wire/rights.ts'

const ROLES: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

/** The page only spares people buttons that would be refused: the server decides. */
export function hasRole(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least)
}
