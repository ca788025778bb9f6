import type { ServerResponse } from 'node:http'
import { type Conversation, type Json, type Reply, type Tool, textOf, toolOf } from './conversation.ts'
import { newId, writeEvents, writeJson } from './events.ts'

/** `POST /v1/responses` of OpenAI. */
export function readResponse(body: Json): Conversation {
  const input = Array.isArray(body['input']) ? (body['input'] as readonly Json[]) : []
  const declared = body['tools'] ?? []
  const added = input.filter(({ type }) => String(type) === 'additional_tools')
  const results = input.filter(({ type }) => String(type).endsWith('_call_output'))
  return {
    tools: [...declared, ...added.flatMap(({ tools }) => tools ?? [])].flatMap(flattened),
    results: results.map(({ output }) => textOf(output)),
    isStream: Boolean(body['stream']),
  }
}

/** A namespace of tools contains the others. */
function flattened(tool: Json): readonly Tool[] {
  if (String(tool['type']) === 'namespace') return (tool['tools'] ?? []).flatMap(flattened)
  return [{ ...toolOf(tool['name'], tool['parameters']), isCustom: String(tool['type']) === 'custom' }]
}

export function writeResponse(response: ServerResponse, reply: Reply, isStream: boolean): ServerResponse {
  const id = newId('item')
  const item = itemOf(reply, id)
  const usage = {
    ...{ input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  }
  const head = {
    ...{ id: newId('resp'), object: 'response', created_at: 1, model: 'stand-in', error: null, metadata: {} },
    ...{ incomplete_details: null, instructions: null, parallel_tool_calls: true, tools: [] },
    ...{ temperature: 1, top_p: 1, tool_choice: 'auto' },
  }
  const completed = { ...head, status: 'completed', output: [item], usage }
  if (!isStream) return writeJson(response, completed)
  const started = { ...head, status: 'in_progress', output: [], usage: null }
  let sequence_number = 0
  const events = [
    ['response.created', { response: started }],
    ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } }],
    ...partsOf(reply, id),
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response: completed }],
  ] as const
  return writeEvents(
    response,
    events.map(([type, data]) => [type, { type, sequence_number: sequence_number++, ...data }]),
  )
}

function partsOf(reply: Reply, item_id: string): ReadonlyArray<readonly [string, object]> {
  const item = { item_id, output_index: 0 }
  if (reply.kind === 'tool' && typeof reply.input === 'string')
    return [
      ['response.custom_tool_call_input.delta', { ...item, delta: reply.input }],
      ['response.custom_tool_call_input.done', { ...item, input: reply.input }],
    ]
  if (reply.kind === 'tool') {
    const text = JSON.stringify(reply.input)
    return [
      ['response.function_call_arguments.delta', { ...item, delta: text }],
      ['response.function_call_arguments.done', { ...item, name: reply.name, arguments: text }],
    ]
  }
  const at = { ...item, content_index: 0 }
  const part = { type: 'output_text', text: reply.text, annotations: [] }
  return [
    ['response.content_part.added', { ...at, part: { ...part, text: '' } }],
    ['response.output_text.delta', { ...at, delta: reply.text, logprobs: [] }],
    ['response.output_text.done', { ...at, text: reply.text, logprobs: [] }],
    ['response.content_part.done', { ...at, part }],
  ]
}

function itemOf(reply: Reply, id: string): object {
  if (reply.kind === 'tool' && typeof reply.input === 'string') {
    const { name, input } = reply
    return { type: 'custom_tool_call', id, call_id: newId('call'), status: 'completed', name, input }
  }
  if (reply.kind === 'tool') {
    const call = { name: reply.name, arguments: JSON.stringify(reply.input) }
    return { type: 'function_call', id, call_id: newId('call'), status: 'completed', ...call }
  }
  const content = [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }]
  return { type: 'message', id, role: 'assistant', status: 'completed', content }
}
