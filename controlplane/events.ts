import type { Principal } from './http/route.ts'
import { type AuditEventType, appendAudit } from './store/audit.ts'
import type { Query } from './store/query.ts'

/** Who did it, as the audit log names them: a user, an agent, or (`isSystem`) a machine with a token of its own. */
export type Actor = {
  readonly userId?: string | undefined
  readonly agentId?: string | undefined
  readonly isSystem?: boolean | undefined
  readonly label: string
}

/** `actor` in the details of an event that no user and no agent caused; `user_id` and `agent_id` do not name it. */
export type SystemActor = { readonly kind: 'system'; readonly name: string }

export function systemActor(name: string): SystemActor {
  return { kind: 'system', name }
}

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
        ? { isSystem: true, label: principal.email }
        : { userId: principal.userId, label: principal.email }
    case 'agent':
      return { agentId: principal.agentId, label: principal.name }
    case 'gateway':
      return { isSystem: true, label: `gateway:${principal.name}` }
    default:
      return { isSystem: true, label: principal.kind }
  }
}

/** Writes the event's audit row in the transaction that makes it true. */
export async function recordEvent(q: Query, event: BusinessEvent): Promise<void> {
  const { actor, details } = event
  await appendAudit(q, {
    orgId: event.orgId,
    eventType: event.type,
    userId: actor.userId ?? null,
    agentId: event.agentId ?? actor.agentId ?? null,
    details: actor.isSystem === true ? { ...details, actor: systemActor(actor.label) } : details,
  })
}
