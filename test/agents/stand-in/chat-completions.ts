import type { ServerResponse } from 'node:http'
import { type Conversation, type Json, type Reply, textOf, toolOf } from './conversation.ts'
import { newId, writeEvents, writeJson } from './events.ts'

/** `POST /v1/chat/completions` of OpenAI. */
export function readChat(body: Json): Conversation {
  const tools = (body['tools'] ?? []).map((tool) => tool['function'] ?? tool)
  // smolagents sends results as a message of the user.
  const results = (body['messages'] ?? []).filter(
    ({ role, content }) => String(role) === 'tool' || OBSERVATION.test(textOf(content)),
  )
  return {
    tools: tools.map(({ name, parameters }) => toolOf(name, parameters)),
    results: results.map(({ content }) => textOf(content)),
    isStream: Boolean(body['stream']),
  }
}

const OBSERVATION = /^(\[\{"type":"text","text":")?Observation:/

export function writeChat(response: ServerResponse, reply: Reply, isStream: boolean): ServerResponse {
  const message = messageOf(reply)
  const finish_reason = reply.kind === 'tool' ? 'tool_calls' : 'stop'
  const head = { id: newId('chatcmpl'), created: 1, model: 'stand-in', system_fingerprint: 'fp_1' }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  if (!isStream) {
    const choices = [{ index: 0, message: { ...message, refusal: null }, finish_reason, logprobs: null }]
    return writeJson(response, { ...head, object: 'chat.completion', choices, usage })
  }
  const chunk = (delta: object, reason: string | null) => ({
    ...{ ...head, object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  return writeEvents(response, [
    [null, chunk(message, null)],
    [null, chunk({}, finish_reason)],
    [null, { ...head, object: 'chat.completion.chunk', choices: [], usage }],
    [null, '[DONE]'],
  ])
}

function messageOf(reply: Reply): object {
  if (reply.kind === 'text') return { role: 'assistant', content: reply.text }
  const call = { name: reply.name, arguments: JSON.stringify(reply.input) }
  return {
    ...{ role: 'assistant', content: null },
    tool_calls: [{ index: 0, id: newId('call'), type: 'function', function: call }],
  }
}
