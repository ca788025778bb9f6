import {
  GRANT_DURATIONS,
  GrantBody,
  GrantList,
  type GrantView,
  MAX_GRANT_USES,
} from '../../../core/wire/grants.ts'
import { usageError } from '../arguments.ts'
import type { ApiClient } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation, list, text } from '../command.ts'
import { printable, table } from '../terminal/table.ts'

const PATH = '/api/dashboard/grants'

/**
 * Returns the grant that the option `--for` and its accompanying options describe; undefined when the command
 * line has no `--for`. Throws a usage error for wrong options.
 */
export function grantOf(command: Command, invocation: Invocation, verb: string): GrantBody | undefined {
  const duration = text(invocation, 'for')
  const uses = text(invocation, 'uses')
  const parameters = list(invocation, 'parameter')
  const isAnyTarget = flag(invocation, 'any-target')
  if (duration === undefined) {
    if (uses === undefined && parameters.length === 0 && !isAnyTarget) return undefined
    throw usageError(
      command,
      '--uses, --any-target and --parameter apply only to the approval of later requests. Add --for, such as --for 1h.',
    )
  }
  if (verb !== 'approve') throw usageError(command, '--for can be used only with approve.')
  const parsed = GrantBody.safeParse({
    duration,
    ...(uses === undefined ? {} : { max_uses: Number(uses) }),
    target: isAnyTarget ? 'any' : 'same',
    parameters,
  })
  if (parsed.success) return parsed.data
  throw usageError(
    command,
    `--for must be one of ${GRANT_DURATIONS.join(', ')}, and --uses a number from 1 to ${MAX_GRANT_USES}.`,
  )
}

export async function printGrants(invocation: Invocation, api: ApiClient): Promise<number> {
  const { grants } = GrantList.parse(await api.call('GET', PATH))
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ grants }))
  else if (grants.length === 0) print('No grants.')
  else
    for (const line of table(
      ['ID', 'STATUS', 'AGENT', 'ACTION', 'TARGET', 'USES', 'EXPIRES', 'BY'],
      grants.map(row),
    ))
      print(line)
  return EXIT.ok
}

function row(grant: GrantView): unknown[] {
  const { id, status, agent, action_type, any_target, target, uses, max_uses, expires_at, created_by } = grant
  const used = `${uses}/${max_uses}`
  return [id, status, agent, action_type, any_target ? '*' : target, used, expires_at, created_by]
}

/**
 * Returns a sentence about what a new grant approves. The sentence is general when the user lacks the right to list
 * grants.
 */
export async function grantSentence(api: ApiClient, id: string): Promise<string> {
  const grant = await api.call('GET', PATH).then(
    (reply) => GrantList.parse(reply).grants.find((each) => each.id === id),
    () => undefined,
  )
  const end = `To end the grant, run chaperone approvals revoke ${id}.`
  if (grant === undefined) return `Grant ${id} approves later requests. ${end}`
  const { max_uses, action_type, agent, expires_at } = grant
  const requests = max_uses === 1 ? 'one more request' : `${max_uses} more requests`
  return printable(
    `Grant ${id} approves ${requests} of ${agent} with ${action_type}${targetText(grant)} until ${expires_at}, ${conditionText(grant)}. ${end}`,
  )
}

function targetText({ any_target, target }: GrantView): string {
  if (any_target) return ' on any target'
  return target === null ? '' : ` on ${target}`
}

function conditionText({ exact, parameters }: GrantView): string {
  if (exact) return 'with the same parameters, body and query'
  const names = Object.keys(parameters)
  return names.length === 0
    ? 'with any parameters, body and query'
    : `with the same ${names.join(', ')} and any other parameters, body and query`
}

export async function revokeGrant(invocation: Invocation, api: ApiClient, id: string): Promise<number> {
  await api.call('DELETE', `${PATH}?grant_id=${encodeURIComponent(id)}`)
  invocation.terminal.print(flag(invocation, 'json') ? JSON.stringify({ ok: true, id }) : `${id} is revoked.`)
  return EXIT.ok
}
