import type { Connector } from '../../../core/connectors/connector.ts'
import { injectAuth } from '../../../core/connectors/credentials/credentials.ts'
import { namedAction, oneAction, unmappedAction } from '../../../core/connectors/named-action.ts'

/** An example of a custom connector, for the API of a ticket system: one file, no I/O. */
export const ticketing: Connector<'ticketing'> = {
  name: 'ticketing',
  label: { title: 'Ticket system', credential: 'Robot password' },
  domains: (config) => (config.domains.length > 0 ? config.domains : ['tickets.example.test']),
  parseAction(request, _body, config) {
    const [collection, id, verb] = request.segments
    const isClose =
      request.method === 'POST' &&
      collection === 'tickets' &&
      verb === 'close' &&
      request.segments.length === 3
    if (!isClose || id === undefined) return oneAction(unmappedAction('ticketing', request, config))
    const parts = {
      connector: 'ticketing',
      type: 'ticketing.ticket.close',
      effect: 'write',
      risk: 'medium',
    } as const
    return oneAction(namedAction({ ...parts, target: id, parameters: { id } }, config))
  },
  injectCredentials: (edit, secret) => injectAuth(edit, secret, { type: 'basic', username: 'robot' }),
  carriers: { headers: ['x-ticket-token'], query: ['ticket_key'], bodyFields: [] },
  defaultAuth: { type: 'basic', username: 'robot' },
  providerError: {
    isNeededBySdks: false,
    format: ({ text }) => ({ value: { problems: [text] } }),
  },
}
