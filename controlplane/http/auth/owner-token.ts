import type { FastifyRequest } from 'fastify'
import { URGENT_MS, unlessLate } from '../../urgent.ts'
import type { Principal } from '../route.ts'
import type { Restriction } from './restriction.ts'

type User = Extract<Principal, { kind: 'user' }>

/** One request that presents the owner's token. `path`: the pattern of its route. */
export type OwnerTokenUse = { readonly method: string; readonly path: string; readonly address: string }

/** The owner's token of a cluster, once users administer the installation. */
export type BreakGlass = {
  /** Notes that a user with the role admin in all namespaces has signed in: from then on the token needs to be opened. */
  noteAdmin(user: User): Promise<void>
  /** Whether the token is closed. Records the use; rejects when it cannot be recorded, or the API server does not answer. */
  isClosed(use: OwnerTokenUse): Promise<boolean>
}

export type OwnerTokenDeps = {
  /** Whether the admin token may only read: approvals then require a session. `givesAccess`: see `Route`. */
  readonly isTokenRestricted: (givesAccess: boolean) => Promise<boolean>
  /** Null outside of a cluster. */
  readonly breakGlass?: BreakGlass | null
}

/** Where database or API server do not answer an urgent request soon, the token counts as closed, or as restricted. */
export async function ownerTokenRestriction(
  request: FastifyRequest,
  { givesAccess, isUrgent }: { readonly givesAccess: boolean; readonly isUrgent: boolean },
  { isTokenRestricted, breakGlass = null }: OwnerTokenDeps,
): Promise<Restriction | null> {
  const within = async (asked: Promise<boolean>) =>
    isUrgent ? ((await unlessLate(asked, URGENT_MS)) ?? true) : asked
  if (breakGlass !== null && (await within(breakGlass.isClosed(useOf(request))))) return 'break_glass'
  return (await within(isTokenRestricted(givesAccess))) ? 'machine_token' : null
}

function useOf({ method, ip, routeOptions }: FastifyRequest): OwnerTokenUse {
  return { method, path: routeOptions.url ?? '', address: ip }
}
