import type { KillSubject } from '../../../core/decision/kill-switch/kill-switch.ts'
import { backOffLimitMs } from '../../../core/state/back-off.ts'
import type { Clock } from '../../../core/state/clock.ts'
import {
  type HostedWorkReport,
  MAX_WORK_RESULTS,
  type WorkResult,
} from '../../../core/wire/gateway/hosted-work.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { isoNow } from '../../process/clock.ts'
import type { HostedWork, KnownWork } from './hosted-work.ts'

/** Cancels the work that agents started at providers, if a kill switch covers the work. */
export type Cancellations = {
  /**
   * Starts the cancellations that kill switches require and that have not begun. Must be called after the
   * acknowledgement of the kill switch, because the acknowledgement must not depend on providers.
   */
  begin(): void
  /**
   * Returns the report about cancellations for the control plane. Work that a kill switch covers counts as pending
   * until its cancellation has a result.
   */
  report(): HostedWorkReport
  close(): void
}

export type CancellationsDeps = {
  readonly work: HostedWork
  /** Returns the kill switch entry that covers the agent or one of the connectors; null when there is none. */
  readonly match: (subject: Omit<KillSubject, 'gateway' | 'instance'>) => KillEntry | null
  readonly mayCancelBatches: () => boolean
  /** Sends the cancelling request. Never rejects. */
  readonly send: (known: KnownWork, scope: string) => Promise<Sent>
  readonly clock: Clock
  readonly onChange: () => void
  /** Returns the pause in milliseconds before a retry. Set by tests only. */
  readonly pauseMs?: (attempt: number) => number
}

/** Result of a cancelling request. `isFinal: false`: a retry may succeed. */
export type Sent = Pick<WorkResult, 'status' | 'detail' | 'request_id'> & {
  readonly isCancelled: boolean
  readonly isFinal: boolean
}

type Outcome = Pick<WorkResult, 'outcome' | 'status' | 'detail' | 'request_id'>

const MAX_IN_FLIGHT = 8
const ATTEMPTS = 4
const RETRY = { firstMs: 500, maxMs: 4_000 }
const REPORT_MS = 50
const MAX_KEPT = 1_000

export function createCancellations(deps: CancellationsDeps): Cancellations {
  const registry = new Registry(deps)
  const timers = new Set<NodeJS.Timeout>()
  const queue: KnownWork[] = []
  let inFlight = 0
  let isClosed = false

  function later(ms: number, then: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      then()
    }, ms).unref()
    timers.add(timer)
  }

  function next(): void {
    while (inFlight < MAX_IN_FLIGHT) {
      const known = queue.shift()
      if (known === undefined) return
      inFlight += 1
      void attempt(known, 0).finally(() => {
        inFlight -= 1
        next()
      })
    }
  }

  async function attempt(known: KnownWork, failures: number): Promise<void> {
    const entry = isClosed ? null : registry.killEntryOf(known)
    if (entry === null) return registry.withdraw(known)
    const sent = await deps.send(known, entry.scope)
    if (sent.isCancelled || sent.isFinal || failures + 1 >= ATTEMPTS)
      return registry.settle(known, entry.scope, sent)
    const { pauseMs = pauseAfter } = deps
    later(pauseMs(failures), () => void attempt(known, failures + 1))
  }

  return {
    begin() {
      if (isClosed) return
      queue.push(...registry.take())
      next()
    },
    report: () => registry.report(),
    close() {
      isClosed = true
      registry.close()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

function pauseAfter(failures: number): number {
  return backOffLimitMs(failures, RETRY)
}

/** Registry of cancellations in progress, and of their results while a kill switch covers the work. */
class Registry {
  readonly #deps: CancellationsDeps
  readonly #since: string
  /** Keys of work whose cancellation is in progress. */
  readonly #begun = new Set<string>()
  /** Results by key of the hosted work, oldest first. */
  readonly #results = new Map<string, { readonly known: KnownWork; readonly result: WorkResult }>()
  #reportTimer: NodeJS.Timeout | null = null

  constructor(deps: CancellationsDeps) {
    this.#deps = deps
    this.#since = isoNow(deps.clock)
  }

  killEntryOf({ agent, connector }: KnownWork): KillEntry | null {
    const connectors = [connector.type, connector.name]
    return this.#deps.match({ agent: agent.name, agentId: agent.id, connectors })
  }

  /**
   * Returns the work to cancel: a kill switch covers the work, and its cancellation has not begun. Marks these
   * cancellations as in progress.
   */
  take(): readonly KnownWork[] {
    this.#discardLifted()
    return [...this.#deps.work.all()].filter((known) => {
      const entry = this.#isOpen(known) ? this.killEntryOf(known) : null
      if (entry === null) return false
      const why = whyLeft(known, this.#deps.mayCancelBatches())
      if (why === null) this.#begun.add(known.key)
      else this.#note(known, entry.scope, { outcome: 'left', status: null, detail: why })
      return why === null
    })
  }

  settle(known: KnownWork, scope: string, { isCancelled, isFinal, ...sent }: Sent): void {
    if (isCancelled || isFinal) this.#deps.work.remove(known.key)
    this.#note(known, scope, { outcome: isCancelled ? 'cancelled' : 'failed', ...sent })
  }

  /**
   * Removes the mark of work whose cancellation ends without a result, because no kill switch covers the work any more
   * or the process stops.
   */
  withdraw(known: KnownWork): void {
    this.#begun.delete(known.key)
  }

  report(): HostedWorkReport {
    this.#discardLifted()
    const { work } = this.#deps
    const open = [...work.all()].filter(
      (known) => !this.#results.has(known.key) && this.killEntryOf(known) !== null,
    )
    const listed = [...this.#results.values()].slice(-MAX_WORK_RESULTS).reverse()
    return {
      since: this.#since,
      pending: open.length,
      dropped: work.dropped,
      unidentified: work.unidentifiedCount,
      results: listed.map(({ result }) => result),
      omitted: this.#results.size - listed.length,
    }
  }

  close(): void {
    if (this.#reportTimer !== null) clearTimeout(this.#reportTimer)
  }

  #isOpen({ key }: KnownWork): boolean {
    return !this.#begun.has(key) && !this.#results.has(key)
  }

  #note(known: KnownWork, scope: string, outcome: Outcome): void {
    const { agent, connector, key, work } = known
    const about = { agent: agent.name, connector: connector.name, kind: work.kind.kind }
    const id = shownId(work.ids['id'] ?? '')
    const result = { ...about, id, scope, at: isoNow(this.#deps.clock), ...outcome }
    this.#results.set(key, { known, result })
    if (this.#results.size > MAX_KEPT) this.#discardOldest()
    this.#begun.delete(key)
    // Results are collected for `REPORT_MS` milliseconds and then reported together.
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = null
      this.#deps.onChange()
    }, REPORT_MS).unref()
  }

  #discardOldest(): void {
    for (const key of this.#results.keys()) {
      this.#results.delete(key)
      return
    }
  }

  /**
   * Discards the results of work that no kill switch covers any more, so that a later kill switch cancels the work
   * again.
   */
  #discardLifted(): void {
    for (const [key, { known }] of this.#results)
      if (this.killEntryOf(known) === null) this.#results.delete(key)
  }
}

function whyLeft({ work: { kind } }: KnownWork, mayCancelBatches: boolean): string | null {
  if (kind.cancel === null)
    return `The provider documents no operation that stops a ${textOf(kind.kind)} and keeps its data.`
  if (!kind.isBatch || mayCancelBatches) return null
  return 'Batches are cancelled only if killSwitch.cancelBatches of the Gateway is true.'
}

/** Returns an id without control and format characters. A server may choose any id; users read it in terminals. */
function shownId(id: string): string {
  return id.replaceAll(/\p{C}/gu, '\ufffd')
}

function textOf(kind: string): string {
  return kind.replaceAll('_', ' ')
}
