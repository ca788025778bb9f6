import { createHash } from 'node:crypto'
import type { Exchange } from './exchange.ts'

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * What an approval is for, as one hash: the same agent asking the same connector for the same bytes under the same
 * rules. Anything else needs an approval of its own.
 */
export function bindingOf(exchange: Exchange, bodySha256: string | null): string {
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
      bodySha256,
      [...(decision?.policies ?? [])].sort(),
      decision?.permission,
    ]),
  )
}
