import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { TimeBudget } from '../pacer.ts'

/** Stages that use the time budget, as records name them. */
export type BudgetedStage = 'tool filter' | 'handles' | 'hosted work' | 'candidates'

/**
 * Maximum time in ms that a step subtracts for each piece of `PIECE_BYTES` bytes. The clock also runs while the process
 * is paused, for example by a CPU limit. Reading a piece takes well below 1 ms.
 */
const PIECE_MS = 5
const PIECE_BYTES = 16_384

/**
 * Time that the stages of one response may use together. When the time is used up, a stage reads nothing more, the
 * response passes unchanged, and the record names the stage. The mask of the credential does not use the budget,
 * because no byte may pass unmasked.
 */
export class AnswerBudget implements TimeBudget {
  leftMs: number = LIMITS.answerEditMs
  readonly #monotonicMs: () => number
  readonly #stopped = new Set<BudgetedStage>()

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** The stages that stopped, in the order in which they stopped. */
  get stopped(): readonly BudgetedStage[] {
    return [...this.#stopped]
  }

  /**
   * Runs the step of a stage that reads the chunk and subtracts its time. Returns false when the time was used up before
   * the step.
   */
  run(stage: BudgetedStage, chunk: Uint8Array, step: () => void): boolean {
    if (this.leftMs <= 0) {
      this.stop(stage)
      return false
    }
    const startedMs = this.#monotonicMs()
    step()
    const limitMs = PIECE_MS * Math.max(1, Math.ceil(chunk.length / PIECE_BYTES))
    this.leftMs -= Math.min(this.#monotonicMs() - startedMs, limitMs)
    return true
  }

  /** Notes that the stage stopped. */
  stop(stage: BudgetedStage): void {
    this.#stopped.add(stage)
  }
}

/** Clock of the time budget. */
export type BudgetClock = { monotonicMs(): number }

/** Returns the time budget of the response, which all its stages share. */
export function answerBudgetOf(
  exchange: { answerBudget: AnswerBudget | undefined },
  clock: BudgetClock,
): AnswerBudget {
  exchange.answerBudget ??= new AnswerBudget(clock.monotonicMs)
  return exchange.answerBudget
}
