import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type {
  CallToolRequest,
  CallToolResult,
  ElicitRequestFormParams,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'
import { PIXEL, SILENCE } from './resources.ts'

type Call = {
  readonly server: Server
  readonly extra: RequestHandlerExtra<ServerRequest, ServerNotification>
  readonly closeStream: () => void
}
type Tool = (
  given: Readonly<Record<string, unknown>>,
  call: Call,
  params: CallToolRequest['params'],
) => unknown

const text = (value: string) => ({ type: 'text' as const, text: value })
const picture = { type: 'image', data: PIXEL, mimeType: 'image/png' }
const resource = (uri: string, mimeType: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: '{"embedded":true}' },
})

const IMPLEMENTED: Readonly<Record<string, Tool>> = {
  test_simple_text: () => [text('This is a simple text response for testing.')],
  test_image_content: () => [picture],
  test_audio_content: () => [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [resource('test://embedded-resource', 'text/plain')],
  test_multiple_content_types: () => [
    text('Several kinds:'),
    picture,
    resource('test://mixed-content-resource', 'application/json'),
  ],
  test_tool_with_logging: async (_given, { extra }) => {
    for (const data of ['started', 'under way', 'completed'])
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
    return [text('logged')]
  },
  test_tool_with_progress: async (_given, { extra }, params) => {
    const progressToken = params._meta?.progressToken ?? 0
    for (const progress of [0, 50, 100]) {
      const about = { progressToken, progress, total: 100 }
      await extra.sendNotification({ method: 'notifications/progress', params: about })
    }
    return [text(String(progressToken))]
  },
  test_error_handling: () => {
    throw new Error('This tool intentionally returns an error for testing')
  },
  test_reconnection: (_given, { closeStream }) => {
    closeStream()
    return [text('came back')]
  },
  test_sampling: async (given, { server, extra }) => {
    const messages = [{ role: 'user' as const, content: text(String(given['prompt'])) }]
    const options = { relatedRequestId: extra.requestId }
    const answer = await server.createMessage({ messages, maxTokens: 100 }, options)
    return [text(`LLM response: ${JSON.stringify(answer.content)}`)]
  },
  test_elicitation: (given, call) =>
    elicit(call, String(given['message']), { response: { type: 'string', description: 'An answer' } }),
  test_elicitation_sep1034_defaults: (_given, call) =>
    elicit(call, 'Fields with defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: (_given, call) =>
    elicit(call, 'Choices', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled('value') },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['Option One', 'Option Two'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2'] } },
      titledMulti: { type: 'array', items: { anyOf: titled('value') } },
    }),
  json_schema_2020_12_tool: (given) => [text(JSON.stringify(given))],
}

const titled = (prefix: string) =>
  ['First', 'Second'].map((title, at) => ({ const: `${prefix}${at + 1}`, title }))

async function elicit(
  { server, extra }: Call,
  message: string,
  properties: ElicitRequestFormParams['requestedSchema']['properties'],
) {
  const requestedSchema = { type: 'object' as const, properties, required: [] }
  const options = { relatedRequestId: extra.requestId }
  const { action, content } = await server.elicitInput({ mode: 'form', message, requestedSchema }, options)
  return [text(`action=${action}, content=${JSON.stringify(content ?? {})}`)]
}

const SCHEMAS: Readonly<Record<string, object>> = {
  test_sampling: { properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  test_elicitation: { properties: { message: { type: 'string' } }, required: ['message'] },
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: {
      address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
    },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  },
}

export const TOOLS = Object.keys(IMPLEMENTED).map((name) => ({
  name,
  description: `${name} of the reference server`,
  inputSchema: { type: 'object' as const, ...SCHEMAS[name] },
}))

export async function callTool(params: CallToolRequest['params'], call: Call): Promise<CallToolResult> {
  const tool = IMPLEMENTED[params.name]
  if (tool === undefined) throw new Error(`no tool ${params.name}`)
  try {
    const content = await tool(params.arguments ?? {}, call, params)
    return { content: content as CallToolResult['content'] }
  } catch (error) {
    return { content: [text(error instanceof Error ? error.message : String(error))], isError: true }
  }
}
