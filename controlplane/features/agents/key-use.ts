import { createSlidingWindow, type SlidingWindow } from '../../../core/state/sliding-window.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { createBatcher } from '../../batcher.ts'
import { isSameHash, keyPrefix } from '../../crypto/tokens.ts'
import type { Db } from '../../db/query.ts'
import { type KeyedAgent, type ShownKey, useAgentKeys } from './key-store.ts'

/** Result of one request with an agent key: the agent, and whether the rate limit per minute admits the request. */
export type KeyUse = {
  readonly agent: Pick<KeyedAgent, 'id' | 'name' | 'capabilities'>
  readonly isAdmitted: boolean
  /** Whole seconds until the next request is admitted. Applies to a rejected request only. */
  readonly retryAfterS: number
}

const MAX_TOGETHER = 256

/**
 * Creates the look-up of agent keys. The look-up also counts the request for the rate limit. Requests that arrive
 * during a look-up share the next look-up, so that no request gets a result that was read before the request arrived.
 * Resolves to null for an unknown key or an inactive agent.
 */
export function createAgentKeyUse(db: Db): (key: string) => Promise<KeyUse | null> {
  const use = createBatcher((shown: readonly ShownKey[]) => useAll(db, shown), {
    max: MAX_TOGETHER,
    atOnce: 2,
  })
  return (key) => use({ prefix: keyPrefix(key), sha256: sha256(key) })
}

const MAX_WINDOWS = 1_000

/**
 * Creates the rate limit that applies to agents while the database does not answer. Each replica applies the limit
 * separately.
 */
export function createUncheckedUse(nowMs: () => number): (agent: KeyUse['agent']) => KeyUse {
  const windows = new Map<string, SlidingWindow>()
  return (agent) => {
    const window = windows.get(agent.id) ?? createSlidingWindow(LIMITS.controlPlaneRatePerMinute)
    if (windows.size >= MAX_WINDOWS && !windows.has(agent.id)) windows.clear()
    windows.set(agent.id, window)
    const taken = window.take(nowMs())
    return { agent, isAdmitted: taken.ok, retryAfterS: taken.ok ? 1 : taken.retryAfterS }
  }
}

type Asked = ShownKey & { wanted: number; taken: number }

/**
 * Returns the results in the order of the requests. When the rate limit does not admit all requests of a key, the
 * first requests are admitted.
 */
async function useAll(db: Db, shown: readonly ShownKey[]): Promise<readonly (KeyUse | null)[]> {
  const asked = new Map<string, Asked>()
  const keys = shown.map((one) => {
    const hash = one.sha256.toString('latin1')
    const known = asked.get(hash) ?? { ...one, wanted: 0, taken: 0 }
    known.wanted += 1
    asked.set(hash, known)
    return known
  })
  const agents = await useAgentKeys(db, [...asked.values()], LIMITS.controlPlaneRatePerMinute)
  const found = new Map([...asked.values()].map((one) => [one, agentOf(agents, one)]))
  return keys.map((one) => useOf(found.get(one), one))
}

/**
 * Returns the agent whose key has this hash. The database also returns agents whose keys only have the same prefix;
 * these agents have no count and are skipped.
 */
function agentOf(agents: readonly KeyedAgent[], { sha256: shown }: ShownKey): KeyedAgent | undefined {
  return agents.find((agent) => agent.admitted !== null && isSameHash(agent.apiKeySha256, shown))
}

function useOf(agent: KeyedAgent | undefined, asked: Asked): KeyUse | null {
  if (agent?.admitted == null) return null
  const { admitted, retryAfterS } = agent
  const isAdmitted = asked.taken < admitted
  asked.taken += 1
  return { agent, isAdmitted, retryAfterS: retryAfterS ?? 1 }
}
