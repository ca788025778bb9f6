import { pathToFileURL } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { npmPackages } from '../../support/node-environment.ts'
import type { Answer } from '../../support/recorder.ts'

/** One chat with function tools: it returns everything that the SDK returned, one element for each event of a stream. */
export type FunctionChat = {
  readonly sdk: string
  readonly name: string
  readonly host: string
  /** Name of the action in the record. */
  readonly action: string
  /** True if the gateway reads ids in the answer, for which it requests an uncompressed one. */
  readonly isUncompressed?: true
  readonly invoke: (fetch: typeof globalThis.fetch) => Promise<readonly unknown[]>
}

const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string', description: 'City, e.g. “Zürich” 🌦' } },
  required: ['city'],
  additionalProperties: false,
}
const FUNCTION = { name: 'get_weather', description: 'Reads the weather of https://weather.example/{city}.' }
const QUESTION = 'How is the weather in Zürich?'

async function collect(stream: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const parts: unknown[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

const openai = (fetch: typeof globalThis.fetch) => new OpenAI({ apiKey: 'placeholder', maxRetries: 0, fetch })
const anthropic = (fetch: typeof globalThis.fetch) =>
  new Anthropic({ apiKey: 'placeholder', maxRetries: 0, fetch })

const CHAT: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  model: 'gpt-5',
  messages: [
    { role: 'system', content: 'Use the tools.' },
    { role: 'user', content: QUESTION },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_0', type: 'function', function: { name: FUNCTION.name, arguments: '{"city":"Bern"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_0', content: '{"image_url":"https://weather.example/bern.png"}' },
  ],
  tools: [{ type: 'function', function: { ...FUNCTION, parameters: PARAMETERS, strict: true } }],
  tool_choice: 'auto',
  temperature: 1e-7,
}

const RESPONSE: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
  model: 'gpt-5',
  input: [
    { role: 'user', content: QUESTION },
    { type: 'function_call', call_id: 'call_0', name: FUNCTION.name, arguments: '{"city":"Bern"}' },
    { type: 'function_call_output', call_id: 'call_0', output: '{"url":"https://weather.example"}' },
  ],
  tools: [{ type: 'function', ...FUNCTION, parameters: PARAMETERS, strict: true }],
}

const MESSAGE: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'claude-sonnet-5',
  max_tokens: 64,
  messages: [
    { role: 'user', content: QUESTION },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_0', name: FUNCTION.name, input: { city: 'Bern' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0', content: 'sunny' }] },
  ],
  tools: [{ ...FUNCTION, input_schema: { ...PARAMETERS, type: 'object' } }],
}

const CONTENT = {
  model: 'gemini-3-pro',
  contents: [
    { role: 'user', parts: [{ text: QUESTION }] },
    { role: 'model', parts: [{ functionCall: { name: FUNCTION.name, args: { city: 'Bern' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: FUNCTION.name, response: { uri: 'x' } } }] },
  ],
  config: { tools: [{ functionDeclarations: [{ ...FUNCTION, parametersJsonSchema: PARAMETERS }] }] },
}

/** The part of `@google/genai` that the chats use. */
type GoogleModule = {
  readonly GoogleGenAI: new (
    options: object,
  ) => {
    readonly models: {
      generateContent(params: object): Promise<unknown>
      generateContentStream(params: object): Promise<AsyncIterable<unknown>>
    }
  }
}

/** Returns the chats. npm installs `@google/genai` once for all tests. */
export async function functionChats(): Promise<readonly FunctionChat[]> {
  const packages = pathToFileURL(`${npmPackages('@google/genai@3.3.0')}/`)
  const google: GoogleModule = await import(new URL('@google/genai/dist/node/index.mjs', packages).href)
  const gemini = (fetch: typeof globalThis.fetch) =>
    new google.GoogleGenAI({ apiKey: 'placeholder', vertexai: false, httpOptions: { fetch } }).models
  const ofOpenai = { sdk: 'openai', host: 'api.openai.com' }
  const ofAnthropic = { sdk: '@anthropic-ai/sdk', host: 'api.anthropic.com' }
  const ofGoogle = { sdk: '@google/genai', host: 'generativelanguage.googleapis.com' }
  return [
    {
      ...{ ...ofOpenai, name: 'chat', action: 'llm_a.chat.create' },
      invoke: async (fetch) => [await openai(fetch).chat.completions.create(CHAT)],
    },
    {
      ...{ ...ofOpenai, name: 'streamed chat', action: 'llm_a.chat.create_stream' },
      invoke: async (fetch) =>
        collect(
          await openai(fetch).chat.completions.create({
            ...{ ...CHAT, stream: true },
            stream_options: { include_usage: true },
          }),
        ),
    },
    {
      ...{ ...ofOpenai, name: 'response', action: 'llm_a.response.create' },
      isUncompressed: true,
      invoke: async (fetch) => [await openai(fetch).responses.create(RESPONSE)],
    },
    {
      ...{ ...ofOpenai, name: 'streamed response', action: 'llm_a.response.create_stream' },
      isUncompressed: true,
      invoke: async (fetch) => collect(await openai(fetch).responses.create({ ...RESPONSE, stream: true })),
    },
    {
      ...{ ...ofAnthropic, name: 'message', action: 'llm_b.message.create' },
      invoke: async (fetch) => [await anthropic(fetch).messages.create(MESSAGE)],
    },
    {
      ...{ ...ofAnthropic, name: 'streamed message', action: 'llm_b.message.create_stream' },
      invoke: async (fetch) => collect(await anthropic(fetch).messages.create({ ...MESSAGE, stream: true })),
    },
    {
      ...{ ...ofGoogle, name: 'content', action: 'llm_c.content.generate' },
      invoke: async (fetch) => [await gemini(fetch).generateContent(CONTENT)],
    },
    {
      ...{ ...ofGoogle, name: 'streamed content', action: 'llm_c.content.generate_stream' },
      invoke: async (fetch) => collect(await gemini(fetch).generateContentStream(CONTENT)),
    },
  ]
}

const ARGUMENTS = '{"city":"Zürich"}'
const CALL = { id: 'call_1', type: 'function', function: { name: FUNCTION.name, arguments: ARGUMENTS } }
const COMPLETION = { id: 'chatcmpl_1', created: 1, model: 'gpt-5' }
const ITEM = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: FUNCTION.name }
const MADE = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', status: 'completed' }
const USED = { type: 'tool_use', id: 'toolu_1', name: FUNCTION.name }
const SAID = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5',
  stop_sequence: null,
}
const USAGE = { input_tokens: 9, output_tokens: 3 }
const GENERATED = (args: object) => ({
  candidates: [{ content: { role: 'model', parts: [{ functionCall: { name: FUNCTION.name, args } }] } }],
})

const PLAIN: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    ...{ ...COMPLETION, object: 'chat.completion' },
    choices: [
      {
        ...{ index: 0, finish_reason: 'tool_calls' },
        message: { role: 'assistant', content: null, tool_calls: [CALL] },
      },
    ],
  },
  '/v1/responses': { ...MADE, output: [{ ...ITEM, arguments: ARGUMENTS, status: 'completed' }] },
  '/v1/messages': {
    ...{ ...SAID, stop_reason: 'tool_use', usage: USAGE },
    content: [{ ...USED, input: { city: 'Zürich' } }],
  },
  ':generateContent': GENERATED({ city: 'Zürich' }),
}

const chunk = (delta: object, finish: string | null = null) => ({
  ...{ ...COMPLETION, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const input = (partial: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json: partial },
})
const changed = (delta: string) => ({
  ...{ type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta },
})

const EVENTS: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    chunk({ role: 'assistant', tool_calls: [{ index: 0, ...CALL, function: { name: FUNCTION.name } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Zürich"}' } }] }, 'tool_calls'),
  ],
  '/v1/responses': [
    { type: 'response.created', response: { ...MADE, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, arguments: '' } },
    changed('{"city":'),
    changed('"Zürich"}'),
    { type: 'response.completed', response: { ...MADE, output: [{ ...ITEM, arguments: ARGUMENTS }] } },
  ],
  '/v1/messages': [
    { type: 'message_start', message: { ...SAID, stop_reason: null, content: [], usage: USAGE } },
    { type: 'content_block_start', index: 0, content_block: { ...USED, input: {} } },
    input('{"city":'),
    input('"Zürich"}'),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE },
    { type: 'message_stop' },
  ],
  ':streamGenerateContent': [GENERATED({ city: 'Z' }), GENERATED({ city: 'Zürich' })],
}

/** The date is fixed, so that the headers of two answers are equal. */
const FIXED = { date: 'Tue, 01 Dec 2026 00:00:00 GMT', 'x-request-id': 'req_1', 'request-id': 'req_1' }
const GAP_MS = 5

/** Answers the chats like their providers, with a call of the function; a stream in several writes. */
export const functionChatAnswer: Answer = (request, response, seen) => {
  request.on('end', () => {
    const path = request.url?.split('?')[0] ?? ''
    const isStream = path.endsWith(':streamGenerateContent') || seen.body.includes('"stream":true')
    const answers: Readonly<Record<string, unknown>> = isStream ? EVENTS : PLAIN
    const found = Object.keys(answers).find((end) => path.endsWith(end))
    if (found === undefined) return response.writeHead(404).end()
    if (isStream) return void streamEvents(EVENTS[found] ?? [])
    const text = JSON.stringify(PLAIN[found])
    response.writeHead(200, {
      ...{ ...FIXED, 'content-type': 'application/json; charset=utf-8' },
      'content-length': Buffer.byteLength(text),
    })
    return response.end(text)
  })
  const streamEvents = async (events: readonly object[]) => {
    response.writeHead(200, { ...FIXED, 'content-type': 'text/event-stream; charset=utf-8' })
    for (const event of events) {
      const type = 'type' in event ? `event: ${event.type}\n` : ''
      response.write(`${type}data: ${JSON.stringify(event)}\n\n`)
      await new Promise((resolve) => setTimeout(resolve, GAP_MS))
    }
    response.end(request.url?.startsWith('/v1/chat') === true ? 'data: [DONE]\n\n' : '')
  }
}
