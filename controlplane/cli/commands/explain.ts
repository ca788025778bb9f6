import * as z from 'zod'
import type { ExplainReply } from '../../../core/wire/explain.ts'
import { usageError } from '../arguments.ts'
import { DEFAULT_AGENT, listAgentsIfAllowed } from '../client/agents.ts'
import { controlPlane } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Command, EXIT, flag, type Invocation, list, text } from '../command.ts'
import { printable } from '../terminal/table.ts'

const Explained = replyFields<ExplainReply>()(z.looseObject({ text: z.string() }))

export const explain: Command = {
  name: 'explain',
  summary: 'Show the decision for a request, and why, without sending it',
  usage: ["explain METHOD URL [--agent NAME] [--header 'NAME: VALUE']"],
  details: 'Prints the connector, the action, every rule that was evaluated, and the rule that decides.',
  maxArguments: 2,
  options: {
    agent: { type: 'string', value: 'NAME', help: `agent that sends the request (default ${DEFAULT_AGENT})` },
    header: { type: 'string', value: 'NAME: VALUE', multiple: true, help: 'header field of the request' },
  },
  examples: [
    ['chaperone explain DELETE https://api.github.com/repos/acme/site', 'show why the request is denied'],
    [
      'chaperone explain POST https://api.stripe.com/v1/refunds --agent billing',
      'show the decision for another agent',
    ],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [method, url] = invocation.positionals
  if (method === undefined || url === undefined) throw usageError(explain, 'Give a method and a URL.')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw usageError(
      explain,
      `${url} is not an absolute http or https URL. Example: https://api.github.com/user`,
    )
  }
  // The URL is sent as typed, because the gateway classifies the bytes of the request line and not a normalized URL.
  const agent = text(invocation, 'agent') ?? DEFAULT_AGENT
  const query = new URLSearchParams({ method: method.toUpperCase(), url, agent })
  const headers = list(invocation, 'header')
  const wrong = headers.find((line) => !/^[^:]+:/.test(line))
  if (wrong !== undefined) throw usageError(explain, `--header ${printable(wrong)} is not NAME: VALUE.`)
  if (headers.length > 0) query.set('headers', headers.join('\n'))
  const api = controlPlane(invocation)
  const [answered, agents] = await Promise.all([
    api.call('GET', `/api/dashboard/explain?${query}`),
    listAgentsIfAllowed(api),
  ])
  const answer = Explained.parse(answered)
  const { print, warn } = invocation.terminal
  if (agents !== null && !agents.some((row) => row.name === agent || row.agent_id === agent))
    warn(`There is no agent ${agent}: only rules for every agent apply. See: chaperone agent list`)
  print(flag(invocation, 'json') ? JSON.stringify(answer) : answer.text.split('\n').map(printable).join('\n'))
  return EXIT.ok
}
