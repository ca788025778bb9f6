/** From the least to the most. */
const ROLES = ['viewer', 'member', 'admin', 'owner'] as const

export type Role = (typeof ROLES)[number]

/** The page only spares people buttons that would be refused: the server decides. */
export function mayAct(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least)
}
