import { isRefusal } from '../../request/canonical.ts'
import type { ConnectorConfig, MemberPath } from '../connector.ts'
import { isRecord } from '../fields/fields.ts'
import { MAX_MASKED } from '../fields/json-members.ts'
import { nameMessage, UNKNOWN } from './message.ts'

type Members = Readonly<Record<string, unknown>>

/**
 * Members that a client regenerates for each retry: the id of the request, and some keys of `_meta`. Sources: the
 * specification of MCP (`progressToken`; W3C trace context: SEP-414), Claude Code, Visual Studio Code, Codex. An
 * approval is bound to every other key of `_meta`, including `baggage`, because servers read application data from it.
 */
export const UNBOUND: readonly MemberPath[] = [
  ['id'],
  ['params', '_meta', 'progressToken'],
  ['params', '_meta', 'traceparent'],
  ['params', '_meta', 'tracestate'],
  ['params', '_meta', 'claudecode/toolUseId'],
  ['params', '_meta', 'vscode.requestId'],
  ['params', '_meta', 'x-codex-turn-metadata', 'turn_id'],
  ['params', '_meta', 'x-codex-turn-metadata', 'turn_started_at_unix_ms'],
]

/**
 * Returns the content of a body that neither the actions (by name and parameters) nor `UNBOUND` cover. For a batch, the
 * content is a list `messages`, in order. A body other than an object is returned unchanged.
 */
export function undescribedMembers(body: unknown, config: ConnectorConfig): unknown {
  if (!Array.isArray(body)) return undescribedOf(body, config)
  const messages = body.map((message) => undescribedOf(message, config))
  return messages.every(isEmptyRecord) ? {} : { messages }
}

function undescribedOf(message: unknown, config: ConnectorConfig): unknown {
  if (!isRecord(message)) return message
  const action = nameMessage(message, config)
  const isNamed = !isRefusal(action) && action.type !== UNKNOWN
  const { jsonrpc, method, params, ...rest } = withoutUnbound(message)
  const named = isNamed ? {} : { ...member('jsonrpc', jsonrpc), ...member('method', method) }
  const more = isNamed && isRecord(params) ? withoutDescribed(params, action.parameters) : params
  return { ...named, ...(isNamed && isEmptyRecord(more) ? {} : member('params', more)), ...rest }
}

/**
 * Returns the members of `params` that the action's parameters do not contain. The action's parameter `method` comes
 * from the message, so a member `method` of `params` is kept.
 */
function withoutDescribed(params: Members, parameters: Members): Members {
  const isDescribed = (key: string, value: unknown) =>
    key !== 'method' && Object.hasOwn(parameters, key) && parameters[key] === value
  return Object.fromEntries(Object.entries(params).filter(([key, value]) => !isDescribed(key, value)))
}

function withoutUnbound(message: Members): Members {
  return UNBOUND.reduce<Members>(withoutMember, message)
}

function withoutMember(record: Members, [key, ...below]: MemberPath): Members {
  if (key === undefined || !Object.hasOwn(record, key)) return record
  const { [key]: value, ...rest } = record
  if (below.length === 0) return isUnbound(value) ? rest : record
  if (!isRecord(value)) return record
  const kept = withoutMember(value, below)
  return isEmptyRecord(kept) && key !== 'params' ? rest : { ...rest, [key]: kept }
}

function isUnbound(value: unknown): boolean {
  return (
    typeof value === 'number' || (typeof value === 'string' && JSON.stringify(value).length <= MAX_MASKED)
  )
}

function member(key: string, value: unknown): Members {
  return value === undefined ? {} : { [key]: value }
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0
}
