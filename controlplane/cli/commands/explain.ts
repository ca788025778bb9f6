import * as z from 'zod'
import { usageError } from '../arguments.ts'
import { controlPlane } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation, list, text } from '../command.ts'
import { DEFAULT_AGENT, listAgentsIfAllowed } from '../client/agents.ts'
import { printable } from '../terminal/table.ts'

const Explained = z.looseObject({ text: z.string() })

export const explain: Command = {
  name: 'explain',
  summary:
    'Says what would happen to a request: connector, action, every rule seen, the winner. Nothing is sent.',
  usage: ["explain METHOD URL [--agent NAME] [--header 'NAME: VALUE']"],
  words: 2,
  options: {
    agent: { type: 'string', value: 'NAME', help: `on behalf of which agent (default ${DEFAULT_AGENT})` },
    header: { type: 'string', value: 'NAME: VALUE', multiple: true, help: 'a header of the request' },
  },
  examples: [
    ['chaperone explain DELETE https://api.github.com/repos/acme/site', 'why it is denied'],
    [
      'chaperone explain POST https://api.stripe.com/v1/refunds --agent billing',
      'the same for another agent',
    ],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [method, url] = invocation.positionals
  if (method === undefined || url === undefined) throw usageError(explain, 'Give a method and a URL.')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw usageError(explain, `${url} is no address: give it whole, e.g. https://api.github.com/user.`)
  }
  // The URL goes on as typed: the gateway judges the bytes, not what a parser would make of them.
  const agent = text(invocation, 'agent') ?? DEFAULT_AGENT
  const query = new URLSearchParams({ method: method.toUpperCase(), url, agent })
  const headers = list(invocation, 'header')
  if (headers.length > 0) query.set('headers', headers.join('\n'))
  const api = controlPlane(invocation)
  const [answered, agents] = await Promise.all([
    api.call('GET', `/api/dashboard/explain?${query}`),
    listAgentsIfAllowed(api),
  ])
  const answer = Explained.parse(answered)
  const { print, warn } = invocation.terminal
  if (agents !== null && !agents.some((row) => row.name === agent || row.agent_id === agent))
    warn(`There is no agent ${agent}: this is what rules for every agent say. See: chaperone agent list`)
  print(flag(invocation, 'json') ? JSON.stringify(answer) : answer.text.split('\n').map(printable).join('\n'))
  return EXIT.ok
}
