import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { namespaceOfScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { AuditEventType } from '../../../core/wire/audit.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'

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

/** Returns the actor of an agent. For an agent without a record, the machine that reported it is the actor. */
export function agentActor(agentId: string | null | undefined, reporter: string): Actor {
  return agentId == null ? systemActor(reporter) : { kind: 'agent', agentId, label: agentId }
}

export type AuditEvent = {
  readonly orgId: string
  readonly eventType: AuditEventType
  readonly actor: Actor
  /** The agent that the event is about, when it is not the actor. */
  readonly agentId?: string | null | undefined
  readonly actionRequestId?: string | null
  /** The manifest object that the event concerns (`namespace/name`), where `details` names no Gateway and no scope. */
  readonly manifest?: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Appends one event in the caller's transaction and returns its id. `details` must not contain secrets. */
export async function appendAudit(q: Query, event: AuditEvent): Promise<number> {
  const [id] = await appendAuditAll(q, [event])
  if (id === undefined) throw new Error('the audit event was not stored')
  return id
}

/** Appends events in one statement, in the given order, and returns their ids. */
export async function appendAuditAll(q: Query, events: readonly AuditEvent[]): Promise<readonly number[]> {
  const list = events.map(storedEvent)
  const { rows } = await q.query<{ id: number }>(
    `insert into audit_events (event_type, org_id, agent_id, user_id, action_request_id, details, namespace)
     select e->>'eventType', e->>'orgId', e->>'agentId', e->>'userId', e->>'actionRequestId', e->'details',
       case when e->>'agentId' is null then e->>'namespace'
         else (select split_part(name, '/', 1) from agents where id = e->>'agentId' and name like '_%/%') end
     from jsonb_array_elements($1::jsonb) with ordinality as list(e, position) order by position
     returning id`,
    [JSON.stringify(list)],
  )
  return rows.map((row) => row.id)
}

/** Returns the columns of an event. A machine has no column, so it is stored as `actor` in the details. */
function storedEvent({ actor, agentId, details, manifest, ...event }: AuditEvent) {
  return {
    ...event,
    namespace: namespaceIn(details, manifest),
    userId: actor.kind === 'user' ? actor.userId : null,
    agentId: agentId ?? (actor.kind === 'agent' ? actor.agentId : null),
    details: actor.kind === 'system' ? { ...details, actor: { kind: 'system', name: actor.label } } : details,
  }
}

/** Returns the namespace of an event without an agent. For other events the namespace of the agent applies. */
function namespaceIn({ gateway, scope }: AuditEvent['details'], manifest: string | undefined): string | null {
  if (manifest !== undefined) return namespaceOf(manifest) || null
  if (typeof gateway === 'string') return namespaceOf(gateway) || null
  return typeof scope === 'string' ? namespaceOfScope(scope) : null
}
