import { LIMITS } from '../../core/wire/limits.ts'

/** Room of an agent for messages whose answers have not ended. */
export const MESSAGE_BUDGET_BYTES = 8 * LIMITS.heldBodyBytes

/** Bytes of messages whose answers have not ended, for each agent and all its WebSockets together. */
export type MessageBudget = {
  /** False when the agent has no room for so many more. */
  take(agent: string, bytes: number): boolean
  give(agent: string, bytes: number): void
}

export function createMessageBudget(limit: number): MessageBudget {
  const taken = new Map<string, number>()
  return {
    take(agent, bytes) {
      const now = (taken.get(agent) ?? 0) + bytes
      if (now > limit) return false
      taken.set(agent, now)
      return true
    },
    give(agent, bytes) {
      const left = (taken.get(agent) ?? 0) - bytes
      if (left > 0) taken.set(agent, left)
      else taken.delete(agent)
    },
  }
}
