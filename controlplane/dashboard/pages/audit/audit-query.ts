/** What of the address filters the log. */
export const FILTER_NAMES = ['event_type', 'q', 'agent_id', 'action_request_id', 'from', 'to'] as const

export type AuditFilterQuery = Readonly<Record<(typeof FILTER_NAMES)[number], string | undefined>>

/** `from` and `to` are local times of an input; the API wants moments. */
export function auditQuery(query: Readonly<Record<string, string>>): AuditFilterQuery {
  const text = (name: (typeof FILTER_NAMES)[number]) => query[name] || undefined
  return {
    event_type: text('event_type'),
    q: text('q'),
    agent_id: text('agent_id'),
    action_request_id: text('action_request_id'),
    from: moment(query['from']),
    to: moment(query['to']),
  }
}

function moment(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
