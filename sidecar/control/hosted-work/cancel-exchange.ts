import { cancelRequest } from '../../../core/connectors/hosted-work/started-work.ts'
import { authorityText } from '../../../core/request/authority-text.ts'
import { Exchange } from '../../pipeline/exchange.ts'
import { isAnswered } from '../../pipeline/phases.ts'
import type { PipelinePorts } from '../../pipeline/ports.ts'
import type { Reply } from '../../pipeline/reply.ts'
import { gatewayParts } from '../execute/execute-exchange.ts'
import { createReplyCapture } from '../execute/execute-reply.ts'
import type { Sent } from './cancellations.ts'
import type { KnownWork } from './hosted-work.ts'

export type CancelSenderDeps = {
  readonly ports: Pick<PipelinePorts, 'clock' | 'newId'>
  /** Runs the pipeline for an exchange. */
  readonly handle: (exchange: Exchange) => Promise<unknown>
}

/**
 * Creates the function that sends a request which cancels hosted work. The request passes the pipeline as a request of
 * the gateway itself. The function never rejects.
 */
export function createCancelSender({ ports, handle }: CancelSenderDeps) {
  return async (known: KnownWork, scope: string): Promise<Sent> => {
    const request = cancelRequest(known.work)
    if (request === null)
      return {
        ...NOTHING,
        detail:
          'The gateway could not derive the cancellation from the path of the request that started the work. Cancel the work at the provider.',
      }
    const capture = createReplyCapture()
    const exchange = exchangeOf(known, { scope, ports, reply: capture.reply, request })
    await handle(exchange)
    return sentBy(exchange, capture.read().body, known.work.errorMember)
  }
}

function sentBy(exchange: Exchange, body: Buffer, errorMember: string | null): Sent {
  const sent = { request_id: exchange.id, status: isAnswered(exchange) ? exchange.outcome.status : null }
  if (sent.status === null) return { ...sent, isCancelled: false, isFinal: false, detail: refusalOf(body) }
  const error = errorMember === null ? null : memberOf(body, errorMember)
  if (error === null && sent.status >= 200 && sent.status < 300)
    return { ...sent, isCancelled: true, isFinal: true }
  return { ...sent, isCancelled: false, isFinal: isFinal(sent.status), detail: failureOf(sent.status, error) }
}

const NOTHING = { isCancelled: false, isFinal: true, status: null } as const
const MAX_DETAIL = 300

function exchangeOf(
  { agent, connector, work }: KnownWork,
  given: {
    readonly scope: string
    readonly ports: CancelSenderDeps['ports']
    readonly reply: Reply
    readonly request: NonNullable<ReturnType<typeof cancelRequest>>
  },
): Exchange {
  const { scheme, host, port } = work.at
  const { method, target, headers, body } = given.request
  const standard = scheme === 'https' ? 443 : 80
  const authority = authorityText(host, port, standard)
  const request = { method, target, host: authority, headers, ...(body === undefined ? {} : { body }) }
  return new Exchange({
    ...gatewayParts(request, { ...given, scheme, agent: agent.name }),
    transport: 'system',
    system: { kind: 'cancel', agent, connectorId: connector.id, scope: given.scope },
  })
}

/**
 * Reports whether the result of a cancellation is final. A retry may succeed after a timeout (408), too many requests
 * (429) or a server error.
 */
function isFinal(status: number): boolean {
  return status < 500 && status !== 429 && status !== 408
}

function failureOf(status: number, error: string | null): string {
  if (error !== null) return `The provider answered: ${error.slice(0, MAX_DETAIL)}.`
  const mayHaveEnded = [400, 404, 409, 410, 422].includes(status)
  return `The provider answered ${status}.${mayHaveEnded ? ' The work may have ended already.' : ''}`
}

/** Returns the detail of the error when the gateway itself refused the cancelling request. */
function refusalOf(body: Buffer): string {
  const text = memberOf(body, 'message') ?? memberOf(body, 'error') ?? 'The provider did not answer.'
  return text.slice(0, MAX_DETAIL)
}

/** Returns the text at a path (`error.message`) of a JSON response, or of the last event of an event stream. */
function memberOf(body: Buffer, path: string): string | null {
  const text = body.toString('utf8')
  const events = text.match(/^data: ?\{.*$/gm)
  const json = events === null ? text : (events.at(-1) ?? '').slice('data:'.length)
  try {
    const value = path.split('.').reduce(memberAt, JSON.parse(json))
    return typeof value === 'string' ? value : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function memberAt(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  return isObject ? value[key as keyof typeof value] : undefined
}
