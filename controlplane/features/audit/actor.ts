import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Principal } from '../../http/route.ts'

/** The cause of an event: a user, an agent, or a machine. `label` is an e-mail address or a name. */
export type Actor = {
  readonly label: string
  /** Origin of the rows that the actor creates. Default: the command line. */
  readonly origin?: RowOrigin
} & (
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'agent'; readonly agentId: string }
  | { readonly kind: 'system' }
)

export function systemActor(label: string): Actor {
  return { kind: 'system', label }
}

/** Returns the actor of a call with the token of a gateway, or of the gateway's internal API. */
export function gatewayActor(name: string): Actor {
  return systemActor(`gateway:${name}`)
}

/** Returns the actor of an agent. For an agent without a record, the machine that reported it is the actor. */
export function agentActor(agentId: string | null | undefined, reporter: string): Actor {
  return agentId == null ? systemActor(reporter) : { kind: 'agent', agentId, label: agentId }
}

/** Returns the origin of a row: `dashboard` for sessions of a page; callers of the API count as `command_line`. */
export function originOf({ origin = 'command_line' }: Actor): RowOrigin {
  return origin
}

/** Returns the actor of the changes that the caller makes. */
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

/** Returns the id of the signed-in user; null for the token of the command line, which belongs to no user. */
export function userIdOf({ userId, via }: Extract<Principal, { kind: 'user' }>): string | null {
  return via === 'admin_token' ? null : userId
}
