import { type EventFormat, eventText, type HeldRequest } from '../event-format.ts'
import { isRecord } from '../fields/fields.ts'
import { acceptsEvents, pathKind } from './endpoint-paths.ts'

const IDLE = ': the request is in progress\n\n'
const WAITING = 'Waiting for an approver to answer.'
/**
 * Amount by which each event increases the progress while an approval is pending. MCP progress must never decrease, and
 * the server's progress notifications follow with the same token. The amount is small, so that the first progress of
 * the server is higher.
 */
const STEP = 0.001

/**
 * Returns the event format for a single JSON-RPC request with an id whose client accepts events. Null for
 * `initialize`, because its response names the session in a header field. Null for batches, and for ids that
 * JSON.parse would round.
 */
export function mcpEventFormat({ request, config, body }: HeldRequest): EventFormat | null {
  if (request.method !== 'POST' || pathKind(request, config) === 'other') return null
  if (!acceptsEvents(request)) return null
  const message = body()
  if (!isRecord(message) || message['jsonrpc'] !== '2.0') return null
  const { id, method, params } = message
  if (!isToken(id) || typeof method !== 'string' || method === 'initialize') return null
  return formatFor(id, progressToken(params))
}

function formatFor(rpcId: string | number, token: string | number | null): EventFormat {
  return {
    rpcId,
    idle: IDLE,
    waiting: (count) => (token === null ? IDLE : IDLE + progress(token, count)),
    failure: (error) => eventText('message', error),
    answerHead: 'event: message\ndata: ',
  }
}

function progress(progressToken: string | number, count: number): string {
  const params = { progressToken, progress: count * STEP, message: WAITING }
  return eventText('message', { jsonrpc: '2.0', method: 'notifications/progress', params })
}

function progressToken(params: unknown): string | number | null {
  const meta = isRecord(params) ? params['_meta'] : undefined
  const token = isRecord(meta) ? meta['progressToken'] : undefined
  return isToken(token) ? token : null
}

function isToken(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}
