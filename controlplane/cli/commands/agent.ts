import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import type { CreateAgentReply } from '../../../core/wire/agents.ts'
import { NewAgentName } from '../../../core/wire/schema/fields.ts'
import { checkedValue, verbOf } from '../arguments.ts'
import { listAgents } from '../client/agents.ts'
import type { ApiClient } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { userClient } from '../client/user-client.ts'
import { type Command, EXIT, flag, type Invocation, list, text } from '../command.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import { table } from '../terminal/table.ts'

const Created = replyFields<CreateAgentReply>()(z.looseObject({ agent_id: z.string(), api_key: z.string() }))
const Rotated = z.looseObject({ api_key: z.string() })
const VERBS = {
  create: 'NAME',
  list: null,
  suspend: 'NAME',
  activate: 'NAME',
  revoke: 'NAME',
  rotate: 'NAME',
} as const

export const agent: Command = {
  name: 'agent',
  summary: 'Create, list, suspend, activate and revoke agents, and rotate their keys',
  usage: [
    'agent create NAME [--runtime R] [--environment E] [--capability C]',
    'agent list',
    'agent suspend|activate|revoke|rotate NAME',
  ],
  details:
    'A key is shown once, when it is created. A suspended agent can be activated again, a revoked one cannot.',
  maxArguments: 2,
  options: {
    runtime: { type: 'string', value: 'TEXT', help: 'language or framework of the agent (default local)' },
    environment: {
      type: 'string',
      value: 'NAME',
      help: 'environment (default development); keys of production agents begin with svc_live_',
    },
    capability: {
      type: 'string',
      value: 'NAME',
      multiple: true,
      help: 'right of the agent in the API: audit:read, org:kill_switch, agents:register; repeat for several',
    },
  },
  examples: [
    [
      'chaperone agent create triage --runtime python',
      'create an agent; start it with chaperone run --agent triage -- python triage.py',
    ],
    ['chaperone agent list', 'list agents and their status'],
    ['chaperone agent suspend triage', 'refuse every request of the agent, including requests in flight'],
    ['chaperone agent rotate triage', 'create a new key and revoke the old one'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { verb, argument: name } = verbOf(agent, invocation.positionals, VERBS)
  if (verb === 'list') return await printAgents(invocation, userClient(invocation))
  return verb === 'create' ? await create(invocation, name) : await change(invocation, verb, name)
}

async function printAgents(invocation: Invocation, api: ApiClient): Promise<number> {
  const agents = await listAgents(api)
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ agents }))
  else {
    const rows = agents.map((row) => [
      row.name,
      row.status,
      row['runtime'],
      row['environment'],
      row['last_seen_at'],
      row.running?.pods,
      row.agent_id,
    ])
    for (const line of table(['NAME', 'STATUS', 'RUNTIME', 'ENVIRONMENT', 'LAST SEEN', 'PODS', 'ID'], rows))
      print(line)
  }
  return EXIT.ok
}

async function create(invocation: Invocation, name: string): Promise<number> {
  const body = {
    name: checkedValue(agent, NewAgentName, name),
    runtime: text(invocation, 'runtime') ?? 'local',
    environment: text(invocation, 'environment') ?? 'development',
    capabilities: [...list(invocation, 'capability')],
  }
  const created = Created.parse(await userClient(invocation).call('POST', '/api/dashboard/agents', body))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(created))
  else {
    print(
      `Agent ${name} (${created.agent_id}) is active. Its key, which is shown only once: ${created.api_key}`,
    )
    print(`Start it behind the gateway: chaperone run --agent ${shellQuote(name)} -- COMMAND`)
  }
  return EXIT.ok
}

async function change(
  invocation: Invocation,
  verb: 'suspend' | 'activate' | 'revoke' | 'rotate',
  name: string,
): Promise<number> {
  const api = userClient(invocation)
  const found = (await listAgents(api)).filter((row) => row.name === name || row.agent_id === name)
  const row = found.find((candidate) => candidate.status !== 'revoked') ?? found[0]
  if (row === undefined)
    throw new ChaperoneError('not_found', { detail: `There is no agent ${name}. See: chaperone agent list` })
  const action = verb === 'rotate' ? 'rotate_key' : verb
  const answer = await api.call('PATCH', '/api/dashboard/agents', { agent_id: row.agent_id, action })
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(answer))
  else if (verb === 'rotate')
    print(`New key of ${name}, which is shown only once: ${Rotated.parse(answer).api_key}`)
  else print(`Agent ${name} is ${{ suspend: 'suspended', activate: 'active', revoke: 'revoked' }[verb]}.`)
  return EXIT.ok
}
