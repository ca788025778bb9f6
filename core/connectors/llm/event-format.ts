import { headerValues } from '../../request/headers/headers.ts'
import { type ErrorObject, type EventFormat, eventText, type HeldRequest } from '../event-format.ts'
import { isRecord } from '../fields/fields.ts'

/** Returns the format of server-sent events for a held request; null if its action does not stream. */
export type ProviderEvents = (held: HeldRequest) => EventFormat | null

const COMMENT = ': the request is in progress\n\n'

export const eventsA: ProviderEvents = (held) => {
  if (!asksForStream(held)) return null
  const isResponse = held.actions.some(({ type }) => type === 'llm_a.response.create_stream')
  return plainFormat(COMMENT, isResponse ? failedResponse : (error) => eventText(null, error))
}

export const eventsB: ProviderEvents = (held) =>
  asksForStream(held)
    ? plainFormat(eventText('ping', { type: 'ping' }), (error) => eventText('error', error))
    : null

/**
 * Returns the event format for requests with `alt=sse`; without `alt=sse` the stream is a JSON list. Only clients of
 * the google-genai SDKs get text while the request is held, and this text is a blank line: the SDKs skip blank lines,
 * but some of their versions fail on other lines without data. Older SDKs (`genai-js`) fail on both kinds of lines. All
 * other clients get no bytes until the request is decided.
 */
export const eventsC: ProviderEvents = (held) => {
  const { query, rawHeaders } = held.request
  const isEvents = query.some(([name, value]) => (name === 'alt' || name === '$alt') && value === 'sse')
  const [client = '', ...more] = headerValues(rawHeaders, 'x-goog-api-client')
  const skipsBlankLines = more.length === 0 && GENAI_SDK.test(client)
  return isEvents && skipsBlankLines && asksForStream(held)
    ? plainFormat('\n', (error) => eventText(null, error))
    : null
}

const GENAI_SDK = /^google-genai-sdk\/|\sgoogle-genai-sdk\//

function asksForStream({ request, actions }: HeldRequest): boolean {
  return request.method === 'POST' && actions.length === 1 && actions[0]?.type.endsWith('_stream') === true
}

function plainFormat(idle: string, failure: EventFormat['failure']): EventFormat {
  return { idle, waiting: () => idle, failure, answerHead: 'data: ' }
}

/**
 * Returns the events that end a stream of the Responses API with an error. SDKs raise the `error` member of an event.
 * Codex ignores this member. Codex ends its turn only after `response.failed` with the code `invalid_prompt`; with any
 * other code it repeats the request, which creates another approval.
 */
function failedResponse(body: ErrorObject, isFinal: boolean): string {
  const error = isRecord(body['error']) ? body['error'] : body
  const { message = 'refused', code = null, param = null } = error
  const response = { ...RESPONSE, error: { code: isFinal ? 'invalid_prompt' : 'server_error', message } }
  return (
    eventText('error', { type: 'error', sequence_number: 0, code, message, param, error }) +
    eventText('response.failed', { type: 'response.failed', sequence_number: 1, response })
  )
}

const RESPONSE = { id: 'resp_refused', object: 'response', created_at: 0, status: 'failed', output: [] }
