import type { Action, Effect, Parameters } from '../../action/action.ts'
import { toolRisk } from '../../action/tool-risk.ts'
import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { fold } from '../../request/json/strict-json.ts'
import type { CatalogueRow, ConnectorConfig } from '../connector.ts'
import { isRecord } from '../fields/fields.ts'
import { type ActionParts, namedAction } from '../named-action.ts'
import { READS, resembledMethod } from './methods.ts'
import { rpcType, toolType } from './names.ts'
import { declaredToolEffects } from './tool-effects.ts'

const MAX_NAME = 256
export const UNKNOWN = 'mcp.rpc.unknown'

/**
 * Catalogue rows of MCP. Tools have no rows, because each server defines its own tools and none is known to be
 * harmless. Methods that read or open a stream are harmless; the end of a session has low risk.
 */
export const MCP_CATALOGUE: readonly CatalogueRow[] = [
  ...['mcp.tools.list', 'mcp.rpc.stream_open', 'mcp.rpc.response'].map(harmless),
  ...[...READS, 'notifications/initialized'].flatMap((method) => rpcType(method) ?? []).map(harmless),
  { type: 'mcp.rpc.session_end', effect: 'write', risk: 'low' },
  { type: 'mcp.rpc.unknown', effect: 'write', risk: 'high' },
]

function harmless(type: string): CatalogueRow {
  return { type, effect: 'read', risk: 'low' }
}

/** Classifies one JSON-RPC message: a tool call, another request, a notification, a response, or none of these. */
export function nameMessage(message: unknown, config: ConnectorConfig): Action | Refusal {
  if (!isRecord(message) || message['jsonrpc'] !== '2.0') return unknownMessage(config)
  const { method, params } = message
  if (method === undefined) return nameResponse(message, config)
  if (typeof method !== 'string') return unknownMessage(config)
  const wrong = judgeName(method, 'method')
  if (wrong !== null) return wrong
  if (method === 'tools/call') return nameCall(params, config)
  if (method === 'tools/list') return act({ type: 'mcp.tools.list', effect: 'read', risk: 'low' }, config)
  const type = rpcType(method)
  return type === null ? unknownMessage(config) : nameRpc({ type, method, params }, config)
}

/**
 * Returns the actions that a lenient server would execute for a message that is not JSON-RPC 2.0: a call without its
 * version, messages in a nested list, a list in place of a name, `tools//call`, positional parameters. These actions
 * are decided together with `mcp.rpc.unknown`, so that a denied tool stays denied.
 */
export function nameHidden(message: unknown, config: ConnectorConfig): readonly Action[] | Refusal {
  const flat = flatten(message)
  if (isRefusal(flat)) return flat
  const calls = flat.filter((one) => isRecord(one)).filter(({ method }) => method !== undefined)
  const found: Action[] = []
  for (const call of calls) {
    const action = nameMessage(asLooked(call), config)
    if (isRefusal(action)) return action
    if (action.type !== UNKNOWN) found.push(action)
  }
  return found
}

/**
 * Returns the call as a lenient server reads it: the server converts a list to text before it looks up a method or
 * tool.
 */
function asLooked(call: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const method = asKey(call['method'])
  const looked = typeof method === 'string' ? (resembledMethod(method) ?? method) : method
  return { ...call, jsonrpc: '2.0', method: looked, params: lookedParams(call['params']) }
}

/**
 * Returns the parameters as a lenient server reads them: from JSON in a text, or by position, where the first value is
 * the name or an object with all parameters.
 */
function lookedParams(params: unknown): unknown {
  if (isRecord(params)) return { ...params, name: asKey(params['name']) }
  const value = typeof params === 'string' ? (parseOr(params) ?? params) : params
  const [first, given] = Array.isArray(value) ? value : [value]
  if (isRecord(first)) return { ...first, name: asKey(first['name']) }
  return typeof first === 'string' ? { name: first, arguments: given } : params
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function asKey(value: unknown): unknown {
  return Array.isArray(value) ? String(value) : value
}

const MAX_HIDDEN = 64

function flatten(message: unknown): readonly unknown[] | Refusal {
  const flat: unknown[] = [message]
  for (let at = 0; at < flat.length; at++) {
    const one = flat[at]
    if (Array.isArray(one)) flat.push(...one)
    if (flat.length > MAX_HIDDEN)
      return refusal('malformed_request', `a nested MCP batch may have at most ${MAX_HIDDEN} messages`)
  }
  return flat
}

/**
 * Returns the action of a body that is not a valid JSON-RPC 2.0 message of MCP, whether or not the body is JSON. The
 * action has high risk, because its effect on a lenient server is unknown.
 */
export function unknownMessage(config: ConnectorConfig): Action {
  return act({ type: UNKNOWN, effect: 'write', risk: 'high' }, config)
}

function nameCall(params: unknown, config: ConnectorConfig): Action | Refusal {
  const name = isRecord(params) ? params['name'] : undefined
  if (!isRecord(params) || typeof name !== 'string' || name === '') return unknownMessage(config)
  const wrong = judgeName(name, 'params.name')
  if (wrong !== null) return wrong
  const risk = toolRisk(name)
  const effect: Effect = risk === 'low' ? 'read' : 'write'
  const { arguments: given, task } = params
  const parameters = {
    name,
    ...(given === undefined ? {} : { arguments: given }),
    // The server continues the call as a task after its response.
    ...(task === undefined ? {} : { task }),
  }
  const effects = declaredToolEffects(config.mcpTools, name)
  return act({ type: toolType(name), effect, risk, target: name, parameters, effects }, config)
}

type Rpc = { readonly type: string; readonly method: string; readonly params: unknown }

function nameRpc({ type, method, params }: Rpc, config: ConnectorConfig): Action {
  const isRead = READS.has(method) || method.startsWith('notifications/')
  const effect: Effect = isRead ? 'read' : 'write'
  const given = isRecord(params) ? params : {}
  const subject = subjectOf(given)
  const { taskId } = given
  const ofTask = typeof taskId === 'string' ? { taskId } : {}
  const parameters = { method, ...subject, ...ofTask, ...argumentsOf(given) }
  const target = subject.uri ?? subject.name
  return withSentData(act({ type, effect, risk: 'low', target, parameters }, config), given)
}

/** Adds `egress` to an action submitted by name whose params send data (see `mcpRequest` for the params). */
export function withSentParams(action: Action): Action {
  const { params } = action.parameters
  return withSentData(action, isRecord(params) ? { ...action.parameters, ...params } : action.parameters)
}

function withSentData(action: Action, given: Parameters): Action {
  const isSent = SENDS.has(action.type) && sendsData(given)
  return isSent ? { ...action, effects: [...(action.effects ?? []), 'egress'] } : action
}

function subjectOf({ uri, name }: Readonly<Record<string, unknown>>): { uri?: string; name?: string } {
  if (typeof uri === 'string') return { uri }
  return typeof name === 'string' ? { name } : {}
}

/** True if the parameters contain arguments, or an address that the server fetches. */
function sendsData(params: Readonly<Record<string, unknown>>): boolean {
  const { uri } = params
  return Object.keys(argumentsOf(params)).length > 0 || (typeof uri === 'string' && ADDRESS.test(uri.trim()))
}

/** Read methods that can send data out: they carry free text to the MCP server, or a URI that it may fetch. */
const SENDS: ReadonlySet<string> = new Set(
  ['resources_read', 'resources_subscribe', 'prompts_get', 'completion_complete'].map(
    (name) => `mcp.rpc.${name}`,
  ),
)
/**
 * Matches addresses on other hosts: URLs with a scheme by which programs fetch or mount something, `file:` URLs with a
 * host, and URLs without a scheme. Another scheme may precede the scheme (`git+ssh:`, `jar:https:`). All other schemes
 * (`note:`, `postgres:`) do not match, because servers define them for their own resources.
 */
const ADDRESS =
  /^(?:(?:[a-z]+[+:])*(?:https?|wss?|ftps?|sftp|tftp|scp|ssh|git|svn|s3[an]?|gs|gcs|abfss?|wasbs?|smb|cifs|nfs|ldaps?|gopher|dict|telnet|rtsp|webdavs?|dav|davs|magnet):|file:[\\/]{2}(?!\/|localhost\/)|[\\/]{2})/i

function argumentsOf(params: Readonly<Record<string, unknown>>): Parameters {
  const { arguments: given, argument } = params
  return {
    ...(given === undefined ? {} : { arguments: given }),
    ...(argument === undefined ? {} : { argument }),
  }
}

/** Returns the action of a client's response to a request that the server sent. */
function nameResponse(message: Readonly<Record<string, unknown>>, config: ConnectorConfig): Action {
  const isResponse = 'id' in message && ('result' in message || 'error' in message)
  if (!isResponse) return unknownMessage(config)
  const effects = returnsData(message) ? (['egress'] as const) : undefined
  return act({ type: 'mcp.rpc.response', effect: 'read', risk: 'low', effects }, config)
}

/**
 * True if the response to the server contains data, such as the result of sampling. A result without members (of a
 * ping), a declined question, a list of local folders and an error without data contain none.
 */
function returnsData({ result, error }: Readonly<Record<string, unknown>>): boolean {
  const isRefused = isRecord(result) && (result['action'] === 'decline' || result['action'] === 'cancel')
  if (isRecord(result) && Object.keys(result).length <= (isRefused ? 1 : 0)) return false
  if (isRecord(result) && isRootsList(result)) return false
  return result !== undefined || (isRecord(error) && error['data'] !== undefined)
}

/**
 * Limits of a `roots/list` result that counts as no data: number of folders, and characters of each URI and name.
 * Larger results could carry file contents. Many clients send such a result at each start.
 */
const MAX_ROOTS = 16
const MAX_ROOT = 512
/** Matches the URI of a local folder, without a host, query or fragment, which could carry other data. */
const LOCAL_FOLDER = /^file:\/\/\/[^?#]*$/i

/** True for a result of `roots/list`: folders on the client's machine, each with a URI and perhaps a name. */
function isRootsList(result: Readonly<Record<string, unknown>>): boolean {
  const { roots, ...rest } = result
  if (!Array.isArray(roots) || roots.length > MAX_ROOTS || Object.keys(rest).length > 0) return false
  return roots.every((root: unknown) => isRecord(root) && isLocalFolder(root))
}

function isLocalFolder({ uri, name = '', ...rest }: Readonly<Record<string, unknown>>): boolean {
  if (typeof uri !== 'string' || typeof name !== 'string' || Object.keys(rest).length > 0) return false
  return LOCAL_FOLDER.test(uri) && uri.length <= MAX_ROOT && name.length <= MAX_ROOT
}

function judgeName(name: string, where: string): Refusal | null {
  if (name.length > MAX_NAME)
    return refusal('malformed_request', `${where} is longer than ${MAX_NAME} characters`)
  if (!name.isWellFormed())
    return refusal('ambiguous_request', `${where} contains half of a surrogate pair; send valid Unicode`)
  if (where === 'params.name' && isDisguised(name)) {
    return refusal(
      'ambiguous_request',
      `${where} has leading or trailing blanks, invisible characters, or characters that Unicode normalization changes; remove them`,
    )
  }
  const folded = fold(name).trim()
  if (where === 'method' && name !== folded && (folded === 'tools/call' || folded === 'tools/list')) {
    return refusal(
      'ambiguous_request',
      `some servers read the method as "${folded}"; send exactly that method`,
    )
  }
  return null
}

/** True for a name that some servers normalize to the name of another tool, which the policies did not decide. */
function isDisguised(name: string): boolean {
  return name !== name.trim() || name !== name.normalize('NFKC') || /[\p{Cc}\p{Cf}]/u.test(name)
}

function act(parts: Omit<ActionParts, 'connector'>, config: ConnectorConfig): Action {
  return namedAction({ ...parts, connector: 'mcp' }, config)
}
