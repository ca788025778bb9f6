import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { namespaceOfScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { AuditEventType } from '../../../core/wire/audit.ts'
import type { Query } from '../../db/query.ts'
import type { Actor } from './actor.ts'
import { type AuditEventInput, insertAuditEvents } from './store.ts'

export type AuditEvent = {
  readonly orgId: string
  readonly type: AuditEventType
  readonly actor: Actor
  /** The agent that the event is about, if this agent is not the actor. */
  readonly agentId?: string | null | undefined
  readonly actionRequestId?: string | null
  /**
   * The manifest object that the event is about, as `namespace/name`. Set when `details` names no Gateway and no scope
   * from which the namespace of the event could be derived.
   */
  readonly manifest?: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Records one event in the transaction of its change and returns its id. `details` must not contain secrets. */
export async function recordEvent(q: Query, event: AuditEvent): Promise<number> {
  const [id] = await recordEvents(q, [event])
  if (id === undefined) throw new Error('the audit event was not stored')
  return id
}

/** Records events in one statement, in the given order, and returns their ids. */
export async function recordEvents(q: Query, events: readonly AuditEvent[]): Promise<readonly number[]> {
  return insertAuditEvents(q, events.map(storedEvent))
}

/**
 * Converts an event to its columns. A machine has no column of its own, so its name is stored as `actor` in the
 * details.
 */
export function storedEvent({
  actor,
  agentId,
  details,
  manifest,
  type,
  ...event
}: AuditEvent): AuditEventInput {
  return {
    ...event,
    eventType: type,
    namespace: namespaceIn(details, manifest),
    userId: actor.kind === 'user' ? actor.userId : null,
    agentId: agentId ?? (actor.kind === 'agent' ? actor.agentId : null),
    details: actor.kind === 'system' ? { ...details, actor: { kind: 'system', name: actor.label } } : details,
  }
}

/**
 * Returns the namespace of an event, from its manifest object, Gateway or scope. If the event has an agent, queries of
 * the audit log use the namespace of the agent instead.
 */
function namespaceIn({ gateway, scope }: AuditEvent['details'], manifest: string | undefined): string | null {
  if (manifest !== undefined) return namespaceOf(manifest) || null
  if (typeof gateway === 'string') return namespaceOf(gateway) || null
  return typeof scope === 'string' ? namespaceOfScope(scope) : null
}
