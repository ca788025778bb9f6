import type { Action } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, refusal } from '../request/canonical.ts'
import { isLooseJson } from '../request/json/loose-json.ts'
import { parseStrictJson } from '../request/json/strict-json.ts'
import type { BodyView, Classification, Connector, ConnectorConfig } from './connector.ts'
import { injectAuth } from './credentials/credentials.ts'
import { executeAddress } from './domains.ts'
import { executeByRows } from './execute/to-request.ts'
import { MCP_HANDLES } from './handles/mcp.ts'
import { MCP_WORK } from './hosted-work/mcp.ts'
import { endsSession, opensStream, type PathKind, pathKind } from './mcp/endpoint-paths.ts'
import { mcpEventFormat } from './mcp/event-format.ts'
import { judgeHeaders } from './mcp/headers.ts'
import {
  MCP_CATALOGUE,
  nameHidden,
  nameMessage,
  UNKNOWN,
  unknownMessage,
  withSentParams,
} from './mcp/message.ts'
import { mcpRequest } from './mcp/to-request.ts'
import { UNBOUND, undescribedMembers } from './mcp/unbound.ts'
import { namedAction, oneAction, unmappedAction } from './named-action.ts'

/**
 * Paths of the JSON-RPC members that select the action. Members at other paths do not count, because a tool's own
 * arguments may have any name.
 */
const DECIDING = ['jsonrpc', 'id', 'method', 'params', 'params.name']
export const MAX_MCP_BATCH = 64

/**
 * Connector type of MCP over HTTP. On the endpoint, POST carries JSON-RPC, GET opens the server's event stream, and
 * DELETE ends the session (both protocol revisions). Requests to other paths are unmapped. If no endpoint is declared,
 * JSON in a POST to any path is read as JSON-RPC.
 */
export const mcp: Connector<'mcp'> = {
  name: 'mcp',
  label: { title: 'MCP server', credential: 'Token' },
  domains: (config) => config.domains,
  parseAction: nameRequest,
  decidingKeys: (request, config) =>
    isPost(request, config) || mayHoldMessage(request, config) ? DECIDING : [],
  bodyMayAct: mayHoldMessage,
  handles: MCP_HANDLES,
  hostedWork: MCP_WORK,
  injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
  carriers: { headers: [], query: ['token'], bodyFields: [] },
  unboundMembers: UNBOUND,
  quotesUnreadBody: true,
  undescribed: undescribedMembers,
  eventFormat: mcpEventFormat,
  defaultAuth: { type: 'bearer' },
  catalogue: MCP_CATALOGUE,
  impliedActions: (action) => [withSentParams(action)],
  toRequest: (spec, config) =>
    config.actions.some(({ action }) => action === spec.type)
      ? executeByRows([], spec, { ...executeAddress(config, ''), format: 'json' })
      : mcpRequest(spec, config),
}

function nameRequest(
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  if (isPost(request, config)) return namePost({ request, body, config, kind: pathKind(request, config) })
  const line = nameLine(request, config)
  if (!mayHoldMessage(request, config) || body === undefined || body.kind === 'absent') return oneAction(line)
  return nameOtherMethod({ request, config, kind: 'endpoint', line }, body)
}

function isPost(request: CanonicalRequest, config: ConnectorConfig): boolean {
  return request.method === 'POST' && READ.has(pathKind(request, config))
}

const READ: ReadonlySet<PathKind> = new Set(['endpoint', 'open'])

/**
 * Reports whether the body may contain a JSON-RPC message although the request is no POST to the endpoint. Some
 * servers ignore the method, some the media type, and some accept paths near the endpoint.
 */
function mayHoldMessage(request: CanonicalRequest, config: ConnectorConfig): boolean {
  const kind = pathKind(request, config)
  return kind === 'near' || (kind !== 'other' && request.method !== 'POST')
}

/** Classifies the request by its method and path alone. */
function nameLine(request: CanonicalRequest, config: ConnectorConfig): Action {
  const kind = pathKind(request, config)
  const target = request.host + request.rawPath
  const common = { connector: 'mcp', risk: 'low', target } as const
  if (kind === 'endpoint' && opensStream(request))
    return namedAction({ ...common, type: 'mcp.rpc.stream_open', effect: 'read' }, config)
  if (kind === 'endpoint' && endsSession(request))
    return namedAction({ ...common, type: 'mcp.rpc.session_end', effect: 'write' }, config)
  return unmappedAction('mcp', request, config)
}

function nameOtherMethod(post: Post, body: Exclude<BodyView, { kind: 'absent' }>): Classification {
  switch (body.kind) {
    case 'head':
      return refusal('unsupported_body', 'an MCP message must be sent as application/json')
    case 'invalid':
      return isLooseJson(body.text) ? refuseLoose(body.detail) : nameBeside(post, undefined)
    case 'json':
      return nameBeside(post, body.value)
    case 'form':
    case 'opaque':
      return nameOtherBody(post, body.bytes ?? NO_BYTES)
  }
}

type Post = {
  readonly request: CanonicalRequest
  readonly config: ConnectorConfig
  readonly kind: PathKind
  /** Action of the request line. Absent for a POST whose body is read as JSON-RPC. */
  readonly line?: Action
}

function namePost({ body, ...post }: Post & { readonly body: BodyView | undefined }): Classification {
  const { request, config } = post
  const isJson = request.body.mediaType === 'application/json'
  // On the endpoint, every body counts as a message. On other paths, only a body with the JSON media type does.
  const isMessage = post.kind === 'endpoint' || isJson
  switch (body?.kind) {
    case undefined:
      return refusal('malformed_request', 'the MCP request has no body; send a JSON-RPC message')
    case 'head':
      return refusal('unsupported_body', 'an MCP message must be sent as application/json')
    case 'form':
    case 'opaque':
      return nameOtherBody(post, body.bytes ?? NO_BYTES)
    case 'invalid':
      if (isLooseJson(body.text)) return refuseLoose(body.detail)
      return judgeHeaders(request.rawHeaders, []) ?? oneAction(noMessage(post, isMessage))
    case 'absent':
      return judgeHeaders(request.rawHeaders, []) ?? oneAction(noMessage(post, isMessage))
    case 'json':
      return isJson ? nameMessages(request, body.value, config) : nameBeside(post, body.value)
  }
}

const NO_BYTES = new Uint8Array()

function noMessage({ request, config, line }: Post, isMessage: boolean): Action {
  if (line !== undefined) return line
  return isMessage ? unknownMessage(config) : unmappedAction('mcp', request, config)
}

/**
 * Classifies a body whose media type is not that of a JSON-RPC message. A server that ignores media types may still
 * read a message in the body.
 */
function nameOtherBody(post: Post, bytes: Uint8Array): Classification {
  const text = LENIENT_UTF8.decode(bytes)
  const isJsonLike = JSON_LIKE.test(text)
  const parsed = isJsonLike ? parseStrictJson(text, DECIDING) : null
  if (parsed === null) return nameBeside(post, undefined)
  if (!isRefusal(parsed)) return nameBeside(post, parsed.value)
  if (parsed.code !== 'malformed_request') return parsed
  return isLooseJson(text) ? refuseLoose(parsed.detail) : nameBeside(post, undefined)
}

const LENIENT_UTF8 = new TextDecoder('utf-8')
/** Matches a text that begins like a JSON object or list, or with a comment, which lenient parsers skip. */
const JSON_LIKE = /^\s*(?:[[{#]|\/[/*])/

/** Classifies the request by its path, and adds the calls that a lenient server may read in the request's body. */
function nameBeside(post: Post, value: unknown): Classification {
  const { request, config } = post
  const hidden = nameHidden(value, config)
  if (isRefusal(hidden)) return hidden
  const messages = value === undefined ? [] : Array.isArray(value) ? value : [value]
  const first = noMessage(post, post.kind === 'endpoint')
  return judgeHeaders(request.rawHeaders, messages) ?? { kind: 'actions', actions: [first, ...hidden] }
}

/**
 * Returns the refusal of a body that is not JSON. Some servers accept such a body and would execute the tool call in
 * it.
 */
function refuseLoose(detail: string): Classification {
  return refusal('ambiguous_request', `${detail}, and some servers accept such a body; send plain JSON`)
}

function nameMessages(request: CanonicalRequest, value: unknown, config: ConnectorConfig): Classification {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (messages.length > MAX_MCP_BATCH) {
    return refusal('malformed_request', `an MCP batch may have at most ${MAX_MCP_BATCH} messages`)
  }
  const mismatch = judgeHeaders(request.rawHeaders, messages)
  if (mismatch !== null) return mismatch
  if (messages.length === 0) return oneAction(unknownMessage(config))
  return nameEach(messages, config)
}

function nameEach(messages: readonly unknown[], config: ConnectorConfig): Classification {
  const actions: Action[] = []
  for (const message of messages) {
    const action = nameMessage(message, config)
    if (isRefusal(action)) return action
    const hidden = action.type === UNKNOWN ? nameHidden(message, config) : []
    if (isRefusal(hidden)) return hidden
    actions.push(action, ...hidden)
  }
  return { kind: 'actions', actions }
}
