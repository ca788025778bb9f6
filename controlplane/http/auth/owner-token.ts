import type { FastifyRequest } from 'fastify'
import { URGENT_MS, withinMsOrNull } from '../../urgent.ts'
import type { Principal } from '../route.ts'
import type { Restriction } from './restriction.ts'

type User = Extract<Principal, { kind: 'user' }>

/**
 * A request with the owner's token, which is the admin token (`ADMIN_TOKEN_FILE`) of an installation in a cluster.
 * `path` is the path pattern of the route.
 */
export type OwnerTokenUse = { readonly method: string; readonly path: string; readonly address: string }

/** Tracks whether the owner's token (the admin token of an installation in a cluster) is still usable. */
export type BreakGlass = {
  /**
   * Records that a user with the role admin in all namespaces has authenticated. From then on, the owner's token is
   * closed by default.
   */
  noteAdmin(user: User): Promise<void>
  /**
   * Returns whether the owner's token is closed, that is, no longer accepted, and records its use. Rejects
   * when the use cannot be recorded or the API server does not answer.
   */
  isClosed(use: OwnerTokenUse): Promise<boolean>
}

export type OwnerTokenDeps = {
  /**
   * Resolves to true if the admin token is read-only. The token is read-only while approvals require a session.
   * `givesAccess`: value of the field `givesAccess` of the route.
   */
  readonly isTokenRestricted: (givesAccess: boolean) => Promise<boolean>
  /** State of the owner's token; null outside a cluster. */
  readonly breakGlass?: BreakGlass | null
}

/**
 * Returns the restriction of the admin token (in a cluster: the owner's token). For an urgent request, the token counts
 * as restricted when the database or the API server does not answer in time.
 */
export async function ownerTokenRestriction(
  request: FastifyRequest,
  { givesAccess, isUrgent }: { readonly givesAccess: boolean; readonly isUrgent: boolean },
  { isTokenRestricted, breakGlass = null }: OwnerTokenDeps,
): Promise<Restriction | null> {
  const within = async (check: Promise<boolean>) =>
    isUrgent ? ((await withinMsOrNull(check, URGENT_MS)) ?? true) : check
  if (breakGlass !== null && (await within(breakGlass.isClosed(useOf(request))))) return 'break_glass'
  return (await within(isTokenRestricted(givesAccess))) ? 'machine_token' : null
}

function useOf({ method, ip, routeOptions }: FastifyRequest): OwnerTokenUse {
  return { method, path: routeOptions.url ?? '', address: ip }
}
