import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import { HEADERS } from '../../../core/wire/schema/limits.ts'
import type { BodyReader } from '../body/body-reader.ts'
import type { Pacer } from '../pacer.ts'
import type { Routed, Unowned } from '../phases.ts'
import type { Stage } from '../stage.ts'
import { callTool, type ToolContext, toolsOf } from './tools.ts'

type Deps = {
  readonly ports: ToolContext['ports']
  readonly pacer: Pick<Pacer, 'run'>
  readonly reader: BodyReader
}
type Answer = { readonly status: number; readonly body: unknown }

const MAX_BODY_BYTES = 64 * 1024

/**
 * Creates the stage that answers requests at the gateway's own host: `GET /.well-known/chaperone` and the MCP endpoint
 * `POST /mcp`. Nothing is sent upstream, and no answer changes what the agent may do.
 */
export function createAnswer(deps: Deps): Stage<Routed, Routed> {
  return {
    name: 'answer',
    isQuick: true,
    run: (exchange) =>
      exchange.connector === undefined && exchange.request.host === GATEWAY_HOST
        ? answerAgent(exchange, deps)
        : exchange,
  }
}

async function answerAgent(exchange: Unowned, { ports, pacer, reader }: Deps): Promise<'responded'> {
  const { snapshot, agent, outcome, reply, services } = exchange
  const { status, body } = await answerOf(exchange, reader, {
    snapshot,
    agent,
    ports,
    runSliced: (work) => pacer.run(exchange, work),
  })
  services.assignRecord(exchange)
  outcome.status = status
  const headers = [
    'Content-Type',
    'application/json',
    'Cache-Control',
    'no-store',
    HEADERS.requestId,
    exchange.id,
  ]
  reply.send(status, headers, body === undefined ? '' : JSON.stringify(body), services.afterRecord)
  return 'responded'
}

async function answerOf(exchange: Unowned, reader: BodyReader, context: ToolContext): Promise<Answer> {
  const { raw, request } = exchange
  const path = request.rawPath
  if (path === '/.well-known/chaperone' && raw.method === 'GET')
    return { status: 200, body: wellKnown(context) }
  if (path !== '/mcp')
    return failure(
      404,
      'Not found',
      'This host, the gateway itself, answers only GET /.well-known/chaperone and POST /mcp.',
    )
  if (raw.method !== 'POST') return failure(405, 'Method not allowed', 'Send JSON-RPC by POST.')
  const bytes = await reader.read(exchange, MAX_BODY_BYTES)
  if (bytes === null)
    return failure(413, 'Body too large', `The message is too long. Send at most ${MAX_BODY_BYTES} bytes.`)
  const message = parsed(bytes)
  if (message === null)
    return failure(400, 'Bad request', 'The body is not one JSON-RPC 2.0 message. Send one message as JSON.')
  if (message.id === undefined) return { status: 202, body: undefined }
  return { status: 200, body: { jsonrpc: '2.0', id: message.id, ...(await rpc(message, context)) } }
}

function wellKnown(context: ToolContext) {
  const { snapshot, agent } = context
  return {
    gateway: snapshot.gateway.name,
    agent: agent.name,
    mcp: `http://${GATEWAY_HOST}/mcp`,
    tools: toolsOf(context).map(({ name }) => name),
    refusals:
      'A refused request has status 403 and a JSON body with error, message and record_id. Do not repeat the request; ask for access, or ask the owner of this agent.',
    requests_per_minute: snapshot.gateway.rateLimit.requestsPerMinute,
  }
}

function failure(status: number, error: string, message: string): Answer {
  return { status, body: { error, message } }
}

type Message = {
  readonly id?: string | number
  readonly method: string
  readonly params: Record<string, unknown>
}

const PROTOCOLS = ['2025-06-18', '2025-03-26', '2024-11-05'] as const

async function rpc({ method, params }: Message, context: ToolContext): Promise<object> {
  switch (method) {
    case 'initialize': {
      const wanted = PROTOCOLS.find((version) => version === params['protocolVersion']) ?? PROTOCOLS[0]
      const serverInfo = { name: 'chaperone', version: '1' }
      return { result: { protocolVersion: wanted, capabilities: { tools: {} }, serverInfo } }
    }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return { result: { tools: toolsOf(context) } }
    case 'tools/call': {
      const { text, isError } = await callTool(String(params['name']), params['arguments'], context)
      return { result: { content: [{ type: 'text', text }], isError } }
    }
    default:
      return { error: { code: -32601, message: `There is no method ${method.slice(0, 100)}.` } }
  }
}

function parsed(bytes: Buffer): Message | null {
  const value = jsonOf(bytes)
  if (!isRecord(value) || value['jsonrpc'] !== '2.0' || typeof value['method'] !== 'string') return null
  const { id, params = {} } = value
  if (!isRecord(params)) return null
  const isId = typeof id === 'string' || typeof id === 'number'
  return { ...(isId ? { id } : {}), method: value['method'], params }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    // The body is not JSON. The caller answers the request with 400.
    return null
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
