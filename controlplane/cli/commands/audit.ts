import { ChaperoneError } from '../../../core/errors.ts'
import { Moment } from '../../../core/wire/schema/fields.ts'
import { checkedValue, verbOf } from '../arguments.ts'
import { listAgents } from '../client/agents.ts'
import type { ApiClient } from '../client/client.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, type Invocation, text } from '../command.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'Export the audit log as CSV',
  usage: ['audit export [--type T] [--agent NAME] [--from TIME] [--to TIME] [--search TEXT] [--request ID]'],
  details:
    'Prints the events that match every option, oldest first. TIME is a date or a time with its zone; a date means midnight in UTC.\n' +
    'After an interruption the exit code is 3, and the output is not complete.',
  maxArguments: 1,
  options: {
    type: { type: 'string', value: 'T', help: 'type of the events, for example approval.responded' },
    agent: { type: 'string', value: 'NAME', help: 'agent of the events' },
    from: { type: 'string', value: 'TIME', help: 'begin, for example 2026-11-01 or 2026-11-01T08:00:00Z' },
    to: { type: 'string', value: 'TIME', help: 'end' },
    search: { type: 'string', value: 'TEXT', help: 'text that occurs in the event' },
    request: { type: 'string', value: 'ID', help: 'action request of the events' },
  },
  examples: [
    ['chaperone audit export > audit.csv', 'export all events'],
    [
      'chaperone audit export --type approval.responded --from 2026-11-01',
      'export the answers to held requests since 1 November 2026',
    ],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  verbOf(audit, invocation.positionals, { export: null })
  const [from, to] = [momentOf(invocation, 'from'), momentOf(invocation, 'to')]
  const api = userClient(invocation)
  const query = new URLSearchParams()
  const add = (name: string, value: string | undefined) => value !== undefined && query.set(name, value)
  add('event_type', text(invocation, 'type'))
  add('agent_id', await agentIdOf(api, text(invocation, 'agent')))
  add('from', from)
  add('to', to)
  add('q', text(invocation, 'search'))
  add('action_request_id', text(invocation, 'request'))
  await api.lines(`/api/dashboard/audit-export?${query}`, invocation.terminal.print)
  return EXIT.ok
}

async function agentIdOf(api: ApiClient, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined
  const found = (await listAgents(api)).filter((row) => row.name === name || row.agent_id === name)
  const row = found.find(({ status }) => status !== 'revoked') ?? found[0]
  if (row === undefined)
    throw new ChaperoneError('not_found', { detail: `There is no agent ${name}. See: chaperone agent list` })
  return row.agent_id
}

function momentOf(invocation: Invocation, name: 'from' | 'to'): string | undefined {
  const given = text(invocation, name)
  if (given === undefined) return undefined
  const moment = /^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : given
  return checkedValue(audit, Moment, moment, `--${name}`)
}
