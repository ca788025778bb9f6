import type { Action } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, refusal } from '../request/canonical.ts'
import { headerValues } from '../request/headers.ts'
import { isLooseJson } from '../request/loose-json.ts'
import type { BodyView, Classification, Connector, ConnectorConfig } from './connector.ts'
import { injectAuth } from './credentials.ts'
import { executeAddress } from './domains.ts'
import { judgeHeaders } from './mcp/headers.ts'
import { MCP_CATALOGUE, nameHidden, nameMessage, UNKNOWN, unknownMessage } from './mcp/message.ts'
import { mcpRequest } from './mcp/to-request.ts'
import { namedAction, oneAction, unmappedAction } from './named-action.ts'
import { executeByRows } from './to-request.ts'

/** Keys that name the call. They decide at these places only: a tool's own arguments may be called anything. */
const DECIDING = ['jsonrpc', 'id', 'method', 'params', 'params.name']
const MAX_BATCH = 64

/** MCP over HTTP: POST is JSON-RPC, GET opens the server's stream, DELETE ends the session (both protocol revisions). */
export const mcp: Connector = {
  name: 'mcp',
  domains: (config) => config.domains,
  parseAction: nameRequest,
  decidingKeys: (request) => (request.method === 'POST' ? DECIDING : []),
  injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
  carriers: { headers: [], query: ['token'], bodyFields: [] },
  retold: ['jsonrpc', 'id', 'method', 'params', 'body'],
  defaultAuth: { type: 'bearer' },
  catalogue: MCP_CATALOGUE,
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
  const target = request.host + request.rawPath
  if (request.method === 'POST') return namePost(request, body, config)
  // Discovery documents and sign-in pages beside the endpoint are no streams.
  const isEndpoint = request.segments[0] !== '.well-known'
  if (request.method === 'GET' && isEndpoint) {
    return oneAction(
      namedAction(
        { connector: 'mcp', type: 'mcp.rpc.stream_open', effect: 'read', risk: 'low', target },
        config,
      ),
    )
  }
  // Without a session to end, it deletes whatever else the server has there.
  if (
    request.method === 'DELETE' &&
    isEndpoint &&
    headerValues(request.rawHeaders, 'mcp-session-id').length === 1
  ) {
    return oneAction(
      namedAction(
        { connector: 'mcp', type: 'mcp.rpc.session_end', effect: 'write', risk: 'low', target },
        config,
      ),
    )
  }
  return oneAction(unmappedAction('mcp', request, config))
}

function namePost(
  request: CanonicalRequest,
  body: BodyView | undefined,
  config: ConnectorConfig,
): Classification {
  switch (body?.kind) {
    case undefined:
      return refusal('malformed_request', 'an MCP POST is named by its body, which is not here')
    case 'form':
    case 'opaque':
    case 'head':
      return refusal('unsupported_body', 'an MCP message must be sent as application/json')
    case 'invalid':
      if (isLooseJson(body.text)) return refuseLoose(body.detail)
      return judgeHeaders(request.rawHeaders, []) ?? oneAction(unknownMessage(config))
    case 'absent':
      return judgeHeaders(request.rawHeaders, []) ?? oneAction(unknownMessage(config))
    case 'json':
      return nameMessages(request, body.value, config)
  }
}

/** A server that reads it calls the tool that it names, whatever the rules say of `mcp.rpc.unknown`. */
function refuseLoose(detail: string): Classification {
  return refusal('ambiguous_request', `${detail}, and some servers read it all the same: send plain JSON`)
}

function nameMessages(request: CanonicalRequest, value: unknown, config: ConnectorConfig): Classification {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (messages.length > MAX_BATCH) {
    return refusal('malformed_request', `an MCP batch may hold ${MAX_BATCH} messages`)
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
