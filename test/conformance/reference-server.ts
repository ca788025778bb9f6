import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { PROMPTS, promptOf } from './prompts.ts'
import { RESOURCES, readResource, TEMPLATES } from './resources.ts'
import { callTool, TOOLS } from './tools.ts'

export type ReferenceServer = AsyncDisposable & { readonly port: number }

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]'])

/** An MCP server with sessions that has everything the conformance suite asks for, on a free loopback port. */
export async function startReferenceServer(): Promise<ReferenceServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { hostname } = new URL(`http://${request.headers.host}`)
    if (!LOCAL.has(hostname)) {
      response.writeHead(403).end()
      return
    }
    const body = request.method === 'POST' ? await json(request) : undefined
    const session = String(request.headers['mcp-session-id'] ?? '')
    const transport = transports.get(session) ?? (await openSession(transports))
    await transport.handleRequest(request, response, body)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const transport of transports.values()) await transport.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function openSession(
  transports: Map<string, StreamableHTTPServerTransport>,
): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: eventStore(),
    retryInterval: 500,
    onsessioninitialized: (id) => void transports.set(id, transport),
  })
  // The library's own types are not made for exact optional properties.
  await newServer(transport).connect(transport as Parameters<Server['connect']>[0])
  return transport
}

function newServer(transport: StreamableHTTPServerTransport): Server {
  const capabilities = {
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    logging: {},
    completions: {},
  }
  const server = new Server({ name: 'reference', version: '1.0.0' }, { capabilities })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    callTool(params, { server, extra, closeStream: () => transport.closeSSEStream(extra.requestId) }),
  )
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [...RESOURCES] }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [...TEMPLATES] }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(params.uri))
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [...PROMPTS] }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) =>
    promptOf(params.name, params.arguments ?? {}),
  )
  server.setRequestHandler(SetLevelRequestSchema, () => ({}))
  server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: [], total: 0 } }))
  return server
}

/** Every event of a session, in order, so that a client that reconnects receives the missed events. */
function eventStore(): EventStore {
  const events: { id: string; streamId: string; message: Parameters<EventStore['storeEvent']>[1] }[] = []
  return {
    storeEvent(streamId, message) {
      const id = `${streamId}_${events.length}`
      events.push({ id, streamId, message })
      return Promise.resolve(id)
    },
    async replayEventsAfter(lastEventId, { send }) {
      const at = events.findIndex(({ id }) => id === lastEventId)
      const streamId = events[at]?.streamId ?? ''
      for (const event of events.slice(at + 1)) {
        const isMessage = event.streamId === streamId && Object.keys(event.message).length > 0
        if (isMessage) await send(event.id, event.message)
      }
      return streamId
    },
  }
}
