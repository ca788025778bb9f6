import { CHANNEL_FIELDS, FURTHER_CHANNEL_FIELDS } from '../connectors/chat.ts'
import type { PolicyEntry } from '../wire/sync.ts'

/** Above every priority that a policy can have, so that nothing allows what it denies. */
const PRIORITY = 2_000_000

/** The form of a channel's id, in which it can be compared; a name may change its owner. */
export const CHANNEL_ID = /^[CG][A-Z0-9]{1,63}$/

/**
 * The built-in policy that keeps agents out of the channel in which people answer approvals: they neither write beside
 * the cards nor read, change or rename what is there. Channels have to be named by id, because the provider resolves
 * names as they are at that moment. A configured channel that is not an id cannot be compared: then no channel passes.
 */
export function approvalsChannelPolicy(channel: string): PolicyEntry {
  const id = CHANNEL_ID.test(channel) ? channel : null
  const isTaken = id === null ? (value: string) => `${value} != null` : holds(id)
  const takenReason =
    id === null
      ? 'The setting chat_channel_id is not the id of a channel, so no channel can be told apart from it. Set it to the id (C…)'
      : 'Agents have no access to the channel in which approvals are answered'
  const further = anyOf(FURTHER_CHANNEL_FIELDS, isTaken)
  const namedReason =
    'Name the channel by its id (C…): a name cannot be compared with the channel of the approvals'
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
      reason:
        'A method that the catalogue does not know may act on the channel in which approvals are answered',
    },
  ]
  return {
    id: 'pol_approvals_channel',
    name: 'approvals-channel (built in)',
    version: 1,
    priority: PRIORITY,
    mode: 'enforce',
    document: {
      scope: { actions: ['chat.*'], agents: [], environments: [], connectors: [] },
      rules: rules.map((rule) => ({ ...rule, decision: 'deny' as const, approver_groups: [] })),
      tests: [],
    },
  }
}

const ID = '[A-Z][A-Z0-9]+'
const IDS = `^ *${ID}( *, *${ID})* *$`

/** True when one of the fields is there and one of its values meets the test, or is no text at all. */
function anyOf(fields: readonly string[], test: (value: string) => string): string {
  const isMet = (field: string) => {
    const value = `parameters.${field}`
    const inText = `type(${value}) == string && ${test(value)}`
    const inList = `type(${value}) == list && ${value}.exists(c, type(c) != string || ${test('c')})`
    const isOther = `type(${value}) != string && type(${value}) != list`
    return `(has(${value}) && (${inText} || ${inList} || ${isOther}))`
  }
  return fields.map(isMet).join(' || ')
}

function isNoId(value: string): string {
  return `!${value}.matches(${JSON.stringify(IDS)})`
}

function holds(id: string): (value: string) => string {
  return (value) => `${value}.matches(${JSON.stringify(`(^|[^A-Z0-9])${id}($|[^A-Z0-9])`)})`
}

/** Of an action that is submitted by its name, and may name the channel there only. */
function targets(id: string): string {
  return `(has(resource.target) && ${holds(id)('resource.target')})`
}

/** A search in a channel (`in:<#C…>`) answers with what is there. */
function searches(id: string): string {
  const query = 'parameters.query'
  return `(has(${query}) && (type(${query}) != string || ${holds(id)(query)}))`
}
