import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { VerdictMessage } from '../../../core/wire/gateway/sync.ts'
import type { HoldOutcome, HoldPort } from '../../pipeline/ports.ts'
import type { Log } from '../../process/log.ts'
import type { ControlClient } from '../client/client.ts'
import { createHoldClient } from './hold-client.ts'
import { HoldGroup, type HoldGroupDeps, type Waiter } from './hold-group.ts'

export type Holds = HoldPort & {
  /** Receives a verdict from the stream. */
  verdict(verdict: VerdictMessage): void
  /** Reads the state of pending approvals after a reconnect. */
  reconnected(): void
  /** Fails every waiter with this error. */
  failAll(error: unknown): void
  /** Number of approvals that requests of this process wait for. */
  readonly waiting: number
}

export type HoldsDeps = {
  readonly client: ControlClient
  readonly random: () => number
  readonly log: Pick<Log, 'warn'>
  /** Time in milliseconds after the expiry of an approval for which its verdict is still awaited. 5 s unless set. */
  readonly graceMs?: number
}

/** Maximum number of stored verdicts that arrived before the reply that names their approval. */
const MAX_EARLY = 1_000

export function createHolds(deps: HoldsDeps): Holds {
  const groups = new Map<string, HoldGroup>()
  const early = new Map<string, VerdictMessage>()
  const groupDeps: HoldGroupDeps = {
    calls: createHoldClient(deps.client),
    random: deps.random,
    earlyVerdict: (id) => early.get(id) ?? null,
    log: deps.log,
    graceMs: deps.graceMs ?? 5_000,
  }

  function join(hold: HoldBody, waiter: Waiter): HoldGroup {
    const known = groups.get(hold.binding)
    // A group without waiters is about to end, so a new request starts a new group.
    if (known !== undefined && !known.isEmpty) {
      known.add(waiter)
      return known
    }
    const group = new HoldGroup(hold, groupDeps)
    group.add(waiter)
    groups.set(hold.binding, group)
    void group.run().then(() => {
      if (groups.get(hold.binding) === group) groups.delete(hold.binding)
    })
    return group
  }

  return {
    open: (hold) => groupDeps.calls.ask(hold),
    wait(hold, signal, problem = () => null, prepare = () => Promise.resolve()) {
      if (signal.aborted) return Promise.resolve({ kind: 'aborted', approvalId: null })
      return new Promise<HoldOutcome>((resolve, reject) => {
        const onAbort = (): void => group.leave(waiter)
        const done = () => signal.removeEventListener('abort', onAbort)
        const waiter: Waiter = {
          problem,
          prepare,
          settle(outcome) {
            done()
            resolve(outcome)
          },
          fail(error) {
            done()
            reject(error)
          },
        }
        const group = join(hold, waiter)
        signal.addEventListener('abort', onAbort, { once: true })
      })
    },
    verdict(verdict) {
      early.set(verdict.id, verdict)
      const oldest = early.keys().next()
      if (early.size > MAX_EARLY && !oldest.done) early.delete(oldest.value)
      for (const group of groups.values()) if (group.approvalId === verdict.id) group.verdict(verdict)
    },
    reconnected() {
      for (const group of groups.values()) group.refresh()
    },
    failAll(error) {
      for (const group of groups.values()) group.fail(error)
    },
    get waiting() {
      return groups.size
    },
  }
}
