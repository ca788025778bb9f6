import type { AuditEventType } from '../core/wire/audit.ts'
import type { RowOrigin } from '../core/wire/operator/origin.ts'
import type { Query } from './db/query.ts'
import { type Actor, appendAudit, systemActor } from './features/audit/store.ts'
import type { Principal } from './http/route.ts'

/** The id of the person behind a signed-in principal; null for the token of the command line, which is no person's. */
export function personIdOf({ userId, via }: Extract<Principal, { kind: 'user' }>): string | null {
  return via === 'admin_token' ? null : userId
}

export type BusinessEvent = {
  readonly orgId: string
  readonly actor: Actor
  readonly type: AuditEventType
  /** The agent that the event is about, when it is not the actor. */
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

/** Sessions of a page are the dashboard; other callers use the API, as the command line does. */
export function originOf({ origin = 'command_line' }: Actor): RowOrigin {
  return origin
}

/** A call that bears the token of a gateway, or of its internal API. */
export function gatewayActor(name: string): Actor {
  return systemActor(`gateway:${name}`)
}

/** Writes the event's audit row in the transaction that makes it true. */
export async function recordEvent(q: Query, { type, ...event }: BusinessEvent): Promise<void> {
  await appendAudit(q, { ...event, eventType: type })
}
