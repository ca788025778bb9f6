import type { ServerResponse } from 'node:http'
import { type Conversation, type Json, type Reply, textOf, toolOf } from './conversation.ts'
import { newId, writeEvents, writeJson } from './events.ts'

/** `POST /v1/messages` of Anthropic. */
export function readMessage(body: Json): Conversation {
  const blocks = (body['messages'] ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? (content as readonly Json[]) : [],
  )
  return {
    tools: (body['tools'] ?? []).map(({ name, input_schema }) => toolOf(name, input_schema)),
    results: blocks
      .filter(({ type }) => String(type) === 'tool_result')
      .map(({ content }) => textOf(content)),
    isStream: Boolean(body['stream']),
  }
}

export function writeMessage(response: ServerResponse, reply: Reply, isStream: boolean): ServerResponse {
  const head = {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model: 'stand-in',
    stop_sequence: null,
  }
  const stop_reason = reply.kind === 'tool' ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 1, output_tokens: 1 }
  const block =
    reply.kind === 'tool'
      ? { type: 'tool_use', id: newId('toolu'), name: reply.name, input: reply.input }
      : { type: 'text', text: reply.text }
  if (!isStream) return writeJson(response, { ...head, content: [block], stop_reason, usage })
  const [start, delta] =
    reply.kind === 'tool'
      ? [
          { ...block, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(reply.input) },
        ]
      : [
          { ...block, text: '' },
          { type: 'text_delta', text: reply.text },
        ]
  const events = [
    ['message_start', { message: { ...head, content: [], stop_reason: null, usage } }],
    ['content_block_start', { index: 0, content_block: start }],
    ['content_block_delta', { index: 0, delta }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason, stop_sequence: null }, usage }],
    ['message_stop', {}],
  ] as const
  return writeEvents(
    response,
    events.map(([type, data]) => [type, { type, ...data }]),
  )
}
