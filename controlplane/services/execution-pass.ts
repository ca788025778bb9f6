import { createHash } from 'node:crypto'
import type { HoldBody } from '../../core/wire/sync.ts'

/** Exactly one request of an agent, as a gateway describes it when it asks for a person. */
export type PassedRequest = Pick<HoldBody, 'agent' | 'method' | 'host' | 'path' | 'headers' | 'body_sha256'>

/**
 * Names a request that a decision token was spent for: when the gateway at `gateway_url` asks for an approval of this
 * very request, the token is it.
 */
export function passOf({ agent, method, host, path, headers, body_sha256 }: PassedRequest): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        agent,
        method,
        host,
        path,
        headers.map(({ name, value }) => [name, value]),
        body_sha256,
      ]),
    )
    .digest('hex')
}
