import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { KeyedPort } from '../pipeline/credentials/credentials.ts'

/**
 * Keys of agents for their local ports. The gateway stores only hashes of the agents' own keys, so it derives other
 * keys for its ports.
 */
export type PortKeys = {
  /**
   * Returns the port key of the agent. The port key changes when the agent gets a new key, and when another agent gets
   * its name.
   */
  keyOf(agent: AgentEntry): string
  readonly accepts: KeyedPort['accepts']
}

/** Derives each 32-byte key from `secret`, which never leaves the data folder of the gateway. */
export function createPortKeys(secret: string): PortKeys {
  const keyOf = ({ id, key_sha256 }: AgentEntry): string =>
    `svc_port_${createHmac('sha256', secret)
      .update(JSON.stringify([id, key_sha256 ?? null]))
      .digest('base64url')}`
  return {
    keyOf,
    accepts(agent, key) {
      const [expected, given] = [Buffer.from(keyOf(agent)), Buffer.from(key)]
      return expected.length === given.length && timingSafeEqual(expected, given)
    },
  }
}
