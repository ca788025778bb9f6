import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { KeyedPort } from '../pipeline/exchange.ts'

/** Keys of agents for their places on this machine: never the agents' own keys, whose hashes alone are known here. */
export type PortKeys = {
  /** Returns the agent's key, which changes with the agent and with the agent's own key. */
  keyOf(agent: AgentEntry): string
  readonly accepts: KeyedPort['accepts']
}

/** Derives 32 bytes a key from `secret`, which stays in the gateway's folder. */
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
