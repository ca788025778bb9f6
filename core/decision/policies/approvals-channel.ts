import { CHANNEL_FIELDS, FURTHER_CHANNEL_FIELDS } from '../../connectors/chat/channel-fields.ts'
import { CHAT_HOST, WEBHOOK_HOSTS } from '../../connectors/chat.ts'
import type { PolicyEntry } from '../../wire/gateway/sync.ts'

/**
 * Priority above the maximum that a user can set, so that no policy of a user overrides the denials of the built-in
 * policies.
 */
const PRIORITY = 2_000_000

/**
 * Matches the id of a channel. Conditions compare ids, because users can rename a channel and give its name to
 * another.
 */
export const CHANNEL_ID = /^[CG][A-Z0-9]{1,63}$/

/**
 * Returns the built-in policy that keeps agents out of the channel in which approvers answer: agents can neither write
 * to the channel nor read, change or rename its content. Requests must contain the channel's id, because the provider
 * resolves names only at execution. If the configured channel is not an id, the policy cannot compare channels and
 * denies all of them.
 */
export function approvalsChannelPolicy(channel: string): PolicyEntry {
  const id = idOf(channel)
  const isTaken = id === null ? (value: string) => `${value} != null` : holds(id)
  const takenReason = id === null ? NO_ID : TAKEN
  const further = anyOf(FURTHER_CHANNEL_FIELDS, isTaken)
  const namedReason = BY_ID
  const rules = [
    { name: 'approvals-channel', conditions: [anyOf(CHANNEL_FIELDS, isTaken)], reason: takenReason },
    {
      name: 'approvals-channel-elsewhere',
      conditions: [id === null ? further : `${further} || ${targets(id)} || ${searches(id)}`],
      reason: takenReason,
    },
    { name: 'channel-by-id', conditions: [anyOf(CHANNEL_FIELDS, isNoId)], reason: namedReason },
    {
      name: 'further-channel-by-id',
      conditions: [anyOf(FURTHER_CHANNEL_FIELDS, isNoId)],
      reason: namedReason,
    },
    {
      name: 'unknown-method',
      conditions: ['action.unmapped'],
      reason: 'A method that is not in the catalogue may act on the channel in which approvals are answered',
    },
  ]
  return builtIn('approvals-channel', ['chat.*'], rules)
}

/**
 * Returns the built-in policy that keeps agents out of the approvers' channel if they reach the hosts of the chat
 * provider through a Connector whose type is not `chat`. Requests of such a Connector have no channel fields, so all
 * are denied. Of the MCP requests, only those are denied that name the channel, or that cannot be compared with it.
 * Requests to hosts of incoming webhooks are not denied.
 */
export function approvalsChannelElsewherePolicy(channel: string): PolicyEntry {
  const host = `request.host.matches(${JSON.stringify(CHAT_HOST.source)})`
  const isAt = `has(request.host) && ${host} && !(request.host in ${JSON.stringify(WEBHOOK_HOSTS)})`
  return builtIn('approvals-channel-elsewhere', ['*'], elsewhere(idOf(channel), isAt))
}

/** Maximum length of a list of literals in one condition. */
const NAMES_OF_ONE_RULE = 60

/**
 * Returns the policy that keeps agents out of the approvers' channel when they use one of the named connectors, whose
 * base URL, upstream or credential leads to the chat provider.
 */
export function approvalsChannelConnectorsPolicy(channel: string, names: readonly string[]): PolicyEntry {
  const parts = Array.from({ length: Math.ceil(names.length / NAMES_OF_ONE_RULE) }, (_, at) =>
    names.slice(at * NAMES_OF_ONE_RULE, (at + 1) * NAMES_OF_ONE_RULE),
  )
  const rules = parts.flatMap((part) => elsewhere(idOf(channel), `connector.name in ${JSON.stringify(part)}`))
  return builtIn('approvals-channel-connectors', ['*'], rules)
}

function elsewhere(id: string | null, isAt: string): readonly BuiltInRule[] {
  const onMcp = ['connector.type == "mcp"', isAt]
  const rule = (name: string, condition: string, reason: string) => ({
    name,
    conditions: [...onMcp, condition],
    reason,
  })
  return [
    {
      name: 'other-connector',
      conditions: ['connector.type != "chat" && connector.type != "mcp"', isAt],
      reason: OTHER_TYPE,
    },
    rule('unknown-message', 'action.unmapped || action.type == "mcp.rpc.unknown"', UNKNOWN_MESSAGE),
    ...(id === null
      ? [rule('approvals-channel', 'true', NO_ID)]
      : [
          rule('approvals-channel', `has(${ARGUMENTS}) && ${mentions(id)}`, TAKEN),
          rule('approvals-channel-resource', `has(parameters.uri) && ${holds(id)('parameters.uri')}`, TAKEN),
        ]),
    rule('plain-arguments', `has(${ARGUMENTS}) && ${isNested()}`, NESTED),
    ...CHANNEL_FIELDS.flatMap((field) => [
      ...(id === null ? [] : [rule(`approvals-channel-${field}`, argument(field, holds(id)), TAKEN)]),
      rule(`${field}-by-id`, argument(field, isNoId), BY_ID),
    ]),
  ]
}

type BuiltInRule = {
  readonly name: string
  readonly conditions: readonly string[]
  readonly reason: string
}

function builtIn(name: string, actions: string[], rules: readonly BuiltInRule[]): PolicyEntry {
  return {
    id: `pol_${name.replaceAll('-', '_')}`,
    name: `${name} (built in)`,
    version: 1,
    priority: PRIORITY,
    mode: 'enforce',
    document: {
      scope: { actions, agents: [], environments: [], connectors: [] },
      rules: rules.map(({ conditions, ...rule }) => ({
        ...rule,
        conditions: [...conditions],
        decision: 'deny' as const,
        approver_groups: [],
      })),
      tests: [],
    },
  }
}

const NO_ID =
  'The setting chat_channel_id must be the id of a channel (C…), so that channels can be compared with it'
const TAKEN = 'Agents have no access to the channel in which approvals are answered'
const BY_ID =
  'The channel must be given by its id (C…), because a name cannot be compared with the approvals channel'
const OTHER_TYPE =
  'A connector that is not of type chat reaches the chat service in which approvals are answered. Use a Connector of type chat, so that requests can be matched by channel'
const UNKNOWN_MESSAGE = 'A message that cannot be read may act on the channel in which approvals are answered'
const NESTED =
  'Chaperone must compare each argument of a chat tool with the approvals channel, and can do so only with strings, numbers and lists of channels; send no nested value'

function idOf(channel: string): string | null {
  return CHANNEL_ID.test(channel) ? channel : null
}

const ARGUMENTS = 'parameters.arguments'

/** Returns CEL that is true if an argument, or the name of an argument, contains the channel's id. */
function mentions(id: string): string {
  const isId = holds(id)
  const value = `${ARGUMENTS}[k]`
  return `type(${ARGUMENTS}) == map && ${ARGUMENTS}.exists(k, ${isId('k')} || (type(${value}) == string && ${isId(value)}))`
}

/**
 * Returns CEL that is true if the arguments are nested, except for lists in channel fields. A condition cannot search
 * nested arguments, because comprehensions in conditions cannot be nested.
 */
function isNested(): string {
  const type = `type(${ARGUMENTS}[k])`
  const isOther = `${type} == map || (${type} == list && !(k in ${JSON.stringify(CHANNEL_FIELDS)}))`
  return `(type(${ARGUMENTS}) != map || ${ARGUMENTS}.exists(k, ${isOther}))`
}

/** Returns CEL that is true if the argument exists and one of its values passes the test or is not text. */
function argument(field: string, test: (value: string) => string): string {
  return `has(${ARGUMENTS}) && type(${ARGUMENTS}) == map && ${isMet(`${ARGUMENTS}.${field}`, test)}`
}

const ID = '[A-Z][A-Z0-9]+'
/**
 * Pattern for a text with several ids, as clients send lists in forms: separated by commas, or a JSON list. A text
 * with an escape does not match.
 */
const IDS = `^ *(${ID}( *, *${ID})*|\\[ *"${ID}"( *, *"${ID}")* *\\]) *$`

/** Returns CEL that is true if one of the parameters exists and one of its values passes the test or is not text. */
function anyOf(fields: readonly string[], test: (value: string) => string): string {
  return fields.map((field) => isMet(`parameters.${field}`, test)).join(' || ')
}

function isMet(value: string, test: (value: string) => string): string {
  const inText = `type(${value}) == string && ${test(value)}`
  const inList = `type(${value}) == list && ${value}.exists(c, type(c) != string || ${test('c')})`
  const isOther = `type(${value}) != string && type(${value}) != list`
  return `(has(${value}) && (${inText} || ${inList} || ${isOther}))`
}

function isNoId(value: string): string {
  return `!${value}.matches(${JSON.stringify(IDS)})`
}

function holds(id: string): (value: string) => string {
  return (value) => `${value}.matches(${JSON.stringify(`(^|[^A-Z0-9])${id}($|[^A-Z0-9])`)})`
}

/**
 * Returns CEL that is true if the target of a v1 action contains the channel's id. An action that is submitted by name
 * may name the channel only in its target.
 */
function targets(id: string): string {
  return `(has(resource.target) && ${holds(id)('resource.target')})`
}

/**
 * Returns CEL that is true if a search query contains the channel's id, because the query `in:<#C…>` returns the
 * content of the channel.
 */
function searches(id: string): string {
  const query = 'parameters.query'
  return `(has(${query}) && (type(${query}) != string || ${holds(id)(query)}))`
}
