import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Facts } from './facts.ts'
import type { Order, Outcome } from './inside/order.ts'
import type { Around } from './inside/trap.ts'
import { spawnInNamespace } from './namespace.ts'

const MAIN = new URL('./inside/main.ts', import.meta.url).pathname

/** Cells that run in the namespace. */
export type Runs = AsyncDisposable & {
  /** What happened in a cell, once it has ended. */
  facts(cell: string): Promise<Facts>
  /** What went around the gateway in all of them, once all have ended. */
  end(): Promise<{ readonly packetsAround: number; readonly around: readonly Around[] }>
}

export function startRuns(orders: readonly Order[]): Runs {
  const child = spawnInNamespace([process.execPath, MAIN])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const outcomes = new Map<string, Outcome>()
  const changed = new EventTarget()
  const state = { isOver: false }
  const read = async () => {
    for await (const line of createInterface({ input: streamOf(child.stdout) })) {
      const outcome = JSON.parse(line) as Outcome
      outcomes.set(outcome.cell, outcome)
      changed.dispatchEvent(new Event('change'))
    }
    state.isOver = true
    changed.dispatchEvent(new Event('change'))
  }
  const reading = read()
  // Stays open for as long as the runs are wanted.
  streamOf(child.stdin).write(`${JSON.stringify(orders)}\n`)
  const outcome = async (cell: string): Promise<Outcome> => {
    for (;;) {
      const found = outcomes.get(cell)
      if (found !== undefined) return found
      if (state.isOver) throw new Error(`the runs ended with code ${child.exitCode} before ${cell}`)
      await once(changed, 'change')
    }
  }
  return {
    facts: async (cell) => {
      const found = await outcome(cell)
      if ('facts' in found) return found.facts
      throw new Error(`${cell} is no cell`)
    },
    end: async () => {
      const found = await outcome('end')
      if ('facts' in found) throw new Error('a cell has the name end')
      return found
    },
    async [Symbol.asyncDispose]() {
      // Lets a world that is at its end close.
      if (!outcomes.has('end')) child.stdin?.end()
      await Promise.all([ended, reading])
    },
  }
}

function streamOf<S extends NonNullable<ChildProcess['stdin'] | ChildProcess['stdout']>>(
  stream: S | null,
): S {
  if (stream === null) throw new Error('the namespace has no pipe')
  return stream
}
