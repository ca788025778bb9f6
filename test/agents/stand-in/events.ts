import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'

/** Frameworks merge messages of one id. */
export const newId = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '')}`

/** Writes server-sent events, each with its name where it has one, and ends the answer. */
export function writeEvents(
  response: ServerResponse,
  events: ReadonlyArray<readonly [name: string | null, data: unknown]>,
): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [name, data] of events) {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    response.write(`${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`)
  }
  return response.end()
}

export function writeJson(response: ServerResponse, body: unknown, status = 200): ServerResponse {
  const text = Buffer.from(JSON.stringify(body))
  return response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': text.length })
    .end(text)
}
