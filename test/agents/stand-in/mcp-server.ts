import type { ServerResponse } from 'node:http'
import type { Json } from './conversation.ts'
import { writeJson } from './events.ts'

/** A Streamable HTTP MCP server with one tool, `create_issue`. Calls `created` with the title. */
export function answerMcp(
  response: ServerResponse,
  message: Json,
  created: (title: string) => void,
): ServerResponse {
  const { id, method, params } = message
  if (id === undefined) return response.writeHead(202).end()
  const result = RESULTS[String(method)]
  if (String(method) === 'tools/call') created(String(params?.['arguments']?.['title']))
  if (result === undefined)
    return writeJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
  const version = { protocolVersion: params?.['protocolVersion'] }
  const own = String(method) === 'initialize' ? version : {}
  return writeJson(response, { jsonrpc: '2.0', id, result: { ...result, ...own } })
}

const RESULTS: Readonly<Record<string, object>> = {
  initialize: { capabilities: { tools: {} }, serverInfo: { name: 'issues', version: '1.0.0' } },
  ping: {},
  'tools/list': {
    tools: [
      {
        name: 'create_issue',
        description: 'Creates an issue',
        inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
      },
    ],
  },
  'tools/call': { content: [{ type: 'text', text: 'issue 4711' }] },
}
