import type { PackTools } from '../../../core/connectors/codehost/push/pack.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Exchange } from '../exchange.ts'
import { inflate, objectId } from './git-objects.ts'

const WINDOW_MS = 60_000

/** Maximum number of bytes to which the git packs of each agent may inflate in a minute, over all pushes. */
export type InflateBudget = {
  /**
   * Returns the functions that read git packs. The bytes that `inflate` produces count for the agent of the exchange;
   * beyond the limit `inflate` throws `rate_limited`.
   */
  toolsFor(exchange: Exchange): PackTools
}

type Spent = { sinceMs: number; bytes: number }

export function createInflateBudget(
  monotonicMs: () => number,
  maxBytes: number = LIMITS.inflatedBytesPerMinute,
): InflateBudget {
  const spent = new Map<string, Spent>()

  function take(agent: string, bytes: number): void {
    const now = monotonicMs()
    const known = spent.get(agent)
    const window = known !== undefined && now - known.sinceMs < WINDOW_MS ? known : { sinceMs: now, bytes: 0 }
    spent.set(agent, window)
    window.bytes += bytes
    if (window.bytes > maxBytes) throw tooMuch(agent, Math.ceil((window.sinceMs + WINDOW_MS - now) / 1_000))
  }

  return {
    toolsFor({ agent }) {
      return {
        inflate(from, size) {
          take(agent?.name ?? '', size)
          return inflate(from, size)
        },
        objectId,
      }
    },
  }
}

function tooMuch(agent: string, retryAfterS: number): ChaperoneError {
  const detail = `The pushes of agent "${agent}" contained more commits in one minute than the gateway reads. Wait ${retryAfterS} s and push again.`
  return new ChaperoneError('rate_limited', { detail, retryAfterS })
}
