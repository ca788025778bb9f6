import type { Principal } from './http/route.ts'
import { type AuditEventType, appendAudit } from './store/audit.ts'
import type { Query } from './store/query.ts'

/** Who did it, as the audit log names him. */
export type Actor = {
  readonly userId?: string | undefined
  readonly agentId?: string | undefined
  readonly label: string
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
      return { userId: principal.userId, label: principal.email }
    case 'agent':
      return { agentId: principal.agentId, label: principal.name }
    case 'gateway':
      return { label: `gateway:${principal.name}` }
    default:
      return { label: principal.kind }
  }
}

/** Writes the event's audit row in the transaction that makes it true. */
export async function recordEvent(q: Query, event: BusinessEvent): Promise<void> {
  await appendAudit(q, {
    orgId: event.orgId,
    eventType: event.type,
    userId: event.actor.userId ?? null,
    agentId: event.agentId ?? event.actor.agentId ?? null,
    details: event.details,
  })
}
