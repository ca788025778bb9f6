import { createHash } from 'node:crypto'
import { requiredView } from '../../core/decision/required-groups.ts'
import { headerValues } from '../../core/request/headers.ts'
import type { Exchange } from './exchange.ts'

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Fields that say how the same bytes are read, or on whose behalf the same thing is done. */
const BOUND_HEADERS = [
  'content-type',
  'content-encoding',
  'stripe-account',
  'stripe-context',
  'openai-organization',
  'openai-project',
  // Protocols that name the operation here, or the part of the target that the bytes are for.
  'x-amz-target',
  'soapaction',
  'content-range',
] as const

/** Stands for the hash of a body that has no end yet. */
export const OPEN_ENDED = 'open'

/**
 * What an approval is for, as one hash: the same agent asking the same connector for the same bytes under the same
 * rules. Anything else needs an approval of its own.
 */
export function bindingOf(exchange: Exchange, body: string | null): string {
  const { agent, connector, request, decision, raw } = exchange
  return sha256Hex(
    JSON.stringify([
      'hold-1',
      agent?.id,
      agent?.name,
      connector?.entry.id,
      raw.method,
      request?.scheme,
      request?.host,
      request?.port,
      request?.rawPath,
      request?.rawQuery,
      body,
      BOUND_HEADERS.map((name) => headerValues(request?.rawHeaders ?? [], name)),
      [...(decision?.policies ?? [])].sort(),
      decision?.permission,
      requiredView(decision?.requiredGroups ?? []),
    ]),
  )
}
