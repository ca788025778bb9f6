import type { AuditEventType } from '../core/wire/audit.ts'
import type { RowOrigin } from '../core/wire/operator/origin.ts'
import type { Query } from './db/query.ts'
import { type Actor, appendAudit, systemActor } from './features/audit/store.ts'
import type { Principal } from './http/route.ts'

/** Returns the id of the signed-in user; null for the token of the command line, which belongs to no user. */
export function personIdOf({ userId, via }: Extract<Principal, { kind: 'user' }>): string | null {
  return via === 'admin_token' ? null : userId
}

export type BusinessEvent = {
  readonly orgId: string
  readonly actor: Actor
  readonly type: AuditEventType
  /** The agent that the event concerns, if it is not the actor. */
  readonly agentId?: string | undefined
  readonly details: Readonly<Record<string, unknown>>
}

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

/** Returns the origin of a row: `dashboard` for sessions of a page; callers of the API count as `command_line`. */
export function originOf({ origin = 'command_line' }: Actor): RowOrigin {
  return origin
}

/** Returns the actor of a call with the token of a gateway, or of the gateway's internal API. */
export function gatewayActor(name: string): Actor {
  return systemActor(`gateway:${name}`)
}

/** Writes the audit row of the event in the transaction of the change. */
export async function recordEvent(q: Query, { type, ...event }: BusinessEvent): Promise<void> {
  await appendAudit(q, { ...event, eventType: type })
}
