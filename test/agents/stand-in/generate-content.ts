import type { ServerResponse } from 'node:http'
import { type Conversation, type Json, type Reply, textOf, toolOf } from './conversation.ts'
import { writeEvents, writeJson } from './events.ts'

/** `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent` of Gemini. */
export function readContent(body: Json, isStream: boolean): Conversation {
  const parts = (body['contents'] ?? []).flatMap((content) => content['parts'] ?? [])
  const declared = (body['tools'] ?? []).flatMap(
    (tool) => tool['functionDeclarations'] ?? tool['function_declarations'] ?? [],
  )
  return {
    tools: declared.map((tool) => toolOf(tool['name'], tool['parametersJsonSchema'] ?? tool['parameters'])),
    results: parts
      .map((part) => part['functionResponse'] ?? part['function_response'])
      .filter((part) => part !== undefined)
      .map((part) => textOf(part['response'])),
    isStream,
  }
}

export function writeContent(response: ServerResponse, reply: Reply, isStream: boolean): ServerResponse {
  const part =
    reply.kind === 'tool' ? { functionCall: { name: reply.name, args: reply.input } } : { text: reply.text }
  const body = {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'stand-in',
  }
  return isStream ? writeEvents(response, [[null, body]]) : writeJson(response, body)
}
