import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Principal } from '../../http/route.ts'

/** The cause of an audit event: a user, an agent, or a machine. `label`: an e-mail address or a name. */
export type Actor = {
  readonly label: string
  /** Origin of the rows that the actor creates. Default: `command_line`. */
  readonly origin?: RowOrigin
} & (
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'agent'; readonly agentId: string }
  | { readonly kind: 'system' }
)

export function systemActor(label: string): Actor {
  return { kind: 'system', label }
}

/** Returns the actor of a call that was authenticated by the token of a gateway or of its internal API. */
export function gatewayActor(name: string): Actor {
  return systemActor(`gateway:${name}`)
}

/**
 * Returns the agent as actor. For an agent without a database row, the actor is the machine that reported the agent.
 */
export function agentActor(agentId: string | null | undefined, reporter: string): Actor {
  return agentId == null ? systemActor(reporter) : { kind: 'agent', agentId, label: agentId }
}

/**
 * Returns the origin of the rows that the actor creates. Sessions of the dashboard have the origin `dashboard`; callers
 * of the API have `command_line`, the default.
 */
export function originOf({ origin = 'command_line' }: Actor): RowOrigin {
  return origin
}

/** Returns the actor for audit events about changes by this caller. */
export function actorOf(principal: Principal): Actor {
  switch (principal.kind) {
    case 'user':
      return principal.via === 'admin_token'
        ? systemActor(principal.email)
        : {
            kind: 'user',
            userId: principal.userId,
            label: principal.email,
            ...(principal.session?.isPage ? { origin: 'dashboard' } : {}),
          }
    case 'agent':
      return { kind: 'agent', agentId: principal.agentId, label: principal.name }
    case 'gateway':
      return gatewayActor(principal.name)
    default:
      return systemActor(principal.kind)
  }
}

/** Returns the account id of the caller; null for the admin token of the command line, which belongs to no user. */
export function userIdOf({ userId, via }: Extract<Principal, { kind: 'user' }>): string | null {
  return via === 'admin_token' ? null : userId
}
