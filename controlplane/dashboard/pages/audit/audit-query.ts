/** URL parameters that filter the audit log. */
export const FILTER_NAMES = ['event_type', 'q', 'agent_id', 'action_request_id', 'from', 'to'] as const

export type AuditFilterQuery = Readonly<Record<(typeof FILTER_NAMES)[number], string | undefined>>

/** Converts `from` and `to` from the local times of an input element to ISO 8601 in UTC. */
export function auditQuery(query: Readonly<Record<string, string>>): AuditFilterQuery {
  const text = (name: (typeof FILTER_NAMES)[number]) => query[name] || undefined
  return {
    event_type: text('event_type'),
    q: text('q'),
    agent_id: text('agent_id'),
    action_request_id: text('action_request_id'),
    from: isoTime(query['from']),
    to: isoTime(query['to']),
  }
}

function isoTime(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
