import type { MemberPath } from '../connector.ts'
import { isRecord } from '../fields.ts'
import { MAX_MASKED } from '../json-members.ts'

/**
 * Members that a client makes anew for each try: the number of the request, and these keys of `_meta`. Sources: the
 * specification of MCP (`progressToken`; W3C trace context: SEP-414), Claude Code, Visual Studio Code, Codex. Every other
 * key of `_meta` is bound and shown, `baggage` included: servers read application data from it.
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
 * What a body holds beyond the method, the tool and the arguments that an action's parameters name, and beyond
 * `UNBOUND`. A batch becomes `messages`, in their order; a body that is no message is returned as it is.
 */
export function untoldMembers(body: unknown): unknown {
  if (!Array.isArray(body)) return untoldOf(body)
  const messages = body.map(untoldOf)
  return messages.every(isEmptyRecord) ? {} : { messages }
}

function untoldOf(message: unknown): unknown {
  if (!isRecord(message)) return message
  const { jsonrpc, method, params, ...rest } = withoutUnbound(message)
  const isMessage = jsonrpc === '2.0' && (typeof method === 'string' || method === undefined)
  const named = isMessage ? {} : { ...member('jsonrpc', jsonrpc), ...member('method', method) }
  const more = isRecord(params) ? beyondNamed(params, method) : params
  return { ...named, ...(isEmptyRecord(more) ? {} : member('params', more)), ...rest }
}

/** `nameMessage` makes parameters of these. */
function beyondNamed(params: Readonly<Record<string, unknown>>, method: unknown): unknown {
  const { uri, name } = params
  const told = method === 'tools/call' ? ['name', 'arguments'] : subject(uri, name)
  const isTold = method !== 'tools/call' || typeof name === 'string'
  return isTold ? Object.fromEntries(Object.entries(params).filter(([key]) => !told.includes(key))) : params
}

function subject(uri: unknown, name: unknown): readonly string[] {
  if (typeof uri === 'string') return ['uri']
  return typeof name === 'string' ? ['name'] : []
}

function withoutUnbound(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return UNBOUND.reduce<Readonly<Record<string, unknown>>>(withoutMember, message)
}

function withoutMember(
  record: Readonly<Record<string, unknown>>,
  [key, ...below]: MemberPath,
): Readonly<Record<string, unknown>> {
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

function member(key: string, value: unknown): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : { [key]: value }
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0
}
