import { isRefusal, type Refusal } from '../../request/canonical.ts'
import type { ConnectorConfig, ExecuteRequest, ExecuteSpec } from '../connector.ts'
import { missing, readEndpoint, refuseUnknown, wrong } from '../endpoint.ts'
import { isRecord } from '../fields/fields.ts'
import { KNOWN_METHODS } from './methods.ts'
import { rpcType, toolName, toolType } from './names.ts'

const PLACE = ['url', 'path', 'session_id', 'protocol_version'] as const
const ENDPOINT = { targetIsAddress: false, basePathIsEnough: true }
/** Actions for which no request can be built: the opening of a stream, a response, and an unreadable message. */
const NO_REQUEST = new Set(['mcp.rpc.stream_open', 'mcp.rpc.response', 'mcp.rpc.unknown'])
const TOOLS = 'mcp.tools.'
const RPC = 'mcp.rpc.'

type Message = { readonly method: string; readonly params: Readonly<Record<string, unknown>> }

/**
 * Builds the JSON-RPC request of an MCP action. The arguments of a tool are in `parameters.arguments`. For other
 * methods, the params of the message are in `parameters.params`, or one by one in `parameters.uri`, `name`, `arguments`
 * and `cursor`. The endpoint is `parameters.url`, the connector's base URL, or `parameters.path` on the connector's
 * only host.
 */
export function mcpRequest(spec: ExecuteSpec, config: ConnectorConfig): ExecuteRequest | Refusal {
  if (NO_REQUEST.has(spec.type) || !/^mcp\.(tools|rpc)\./.test(spec.type))
    return wrong('type', `the action ${spec.type} does not name an MCP request, so it cannot be executed`)
  const endpoint = readEndpoint(spec, config, ENDPOINT)
  if (isRefusal(endpoint)) return endpoint
  const session = sessionHeaders(spec.parameters)
  if (isRefusal(session)) return session
  const place = { host: endpoint.host, target: endpoint.path + endpoint.query }
  if (spec.type === 'mcp.rpc.session_end') return endSession(spec, place, session.headers)
  const message = messageOf(spec)
  if (isRefusal(message)) return message
  const headers = [
    ...['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream'],
    ...session.headers,
  ]
  return { method: 'POST', ...place, headers, body: textOf(message) }
}

function endSession(
  spec: ExecuteSpec,
  place: Pick<ExecuteRequest, 'host' | 'target'>,
  headers: readonly string[],
): ExecuteRequest | Refusal {
  if (spec.parameters['session_id'] === undefined) return missing('parameters.session_id')
  return refuseUnknown(spec, PLACE) ?? { method: 'DELETE', ...place, headers }
}

/**
 * Returns the JSON-RPC text. Any id is valid, because no other message is sent on the same connection. A notification
 * has no id, because a server would respond to a message with an id.
 */
function textOf({ method, params }: Message): string {
  const id = method.startsWith('notifications/') ? {} : { id: 1 }
  const given = Object.keys(params).length === 0 ? {} : { params }
  return JSON.stringify({ jsonrpc: '2.0', ...id, method, ...given })
}

function sessionHeaders(parameters: ExecuteSpec['parameters']): { headers: readonly string[] } | Refusal {
  const headers: string[] = []
  for (const [name, header] of SESSION) {
    const value = parameters[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || !/^[\u0021-\u007e]{1,512}$/.test(value))
      return wrong(`parameters.${name}`, 'is not visible ASCII text')
    headers.push(header, value)
  }
  return { headers }
}

const SESSION = [
  ['session_id', 'Mcp-Session-Id'],
  ['protocol_version', 'MCP-Protocol-Version'],
] as const

function messageOf(spec: ExecuteSpec): Message | Refusal {
  if (spec.type === 'mcp.tools.list') return listMessage(spec)
  return spec.type.startsWith(TOOLS) ? callMessage(spec) : rpcMessage(spec)
}

function listMessage(spec: ExecuteSpec): Message | Refusal {
  const unknown = refuseUnknown(spec, ['cursor', ...PLACE])
  if (unknown !== null) return unknown
  const { cursor } = spec.parameters
  return { method: 'tools/list', params: cursor === undefined ? {} : { cursor } }
}

function callMessage(spec: ExecuteSpec): Message | Refusal {
  const unknown = refuseUnknown(spec, ['name', 'arguments', ...PLACE])
  if (unknown !== null) return unknown
  const { name = toolName(spec.type), arguments: given } = spec.parameters
  if (name === null) return missing('parameters.name')
  if (typeof name !== 'string' || toolType(name) !== spec.type)
    return wrong('parameters.name', `must be the tool of the action ${spec.type}`)
  if (given !== undefined && !isRecord(given)) return wrong('parameters.arguments', 'is an object')
  return { method: 'tools/call', params: given === undefined ? { name } : { name, arguments: given } }
}

const ALONE = ['uri', 'name', 'arguments', 'cursor'] as const

function rpcMessage(spec: ExecuteSpec): Message | Refusal {
  const unknown = refuseUnknown(spec, ['method', 'params', ...ALONE, ...PLACE])
  if (unknown !== null) return unknown
  const { method = methodOf(spec.type), params } = spec.parameters
  if (method === null) return missing('parameters.method')
  if (typeof method !== 'string' || rpcType(method) !== spec.type)
    return wrong('parameters.method', `must be the method of the action ${spec.type}`)
  const alone = ALONE.filter((name) => spec.parameters[name] !== undefined)
  if (params === undefined)
    return { method, params: Object.fromEntries(alone.map((name) => [name, spec.parameters[name]])) }
  if (!isRecord(params)) return wrong('parameters.params', 'is an object')
  // A gateway classifies the request by `params`. If the spec states a value in two places, both values must be equal.
  const other = alone.find((name) => JSON.stringify(params[name]) !== JSON.stringify(spec.parameters[name]))
  if (other !== undefined) return wrong(`parameters.${other}`, `differs from parameters.params.${other}`)
  return { method, params }
}

/**
 * Returns the method of an action type; null if it cannot be derived. `_` in a type stands for `/` or for itself, so
 * the type must belong to a known method or contain no `_`.
 */
function methodOf(type: string): string | null {
  const known = [...KNOWN_METHODS].find((method) => rpcType(method) === type)
  if (known !== undefined) return known
  const plain = type.slice(RPC.length)
  return /^[A-Za-z0-9-]+$/.test(plain) ? plain : null
}
