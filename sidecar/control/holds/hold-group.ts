import { randomUUID } from 'node:crypto'
import type { HoldBody, SpendReply } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import type { VerdictMessage } from '../../../core/wire/gateway/sync.ts'
import { sleep } from '../../../runtime/sleep.ts'
import type { HoldOutcome } from '../../pipeline/ports.ts'
import type { Log } from '../../process/log.ts'
import { createControlBackOff } from '../back-off.ts'
import type { HoldClient } from './hold-client.ts'

/** A held request. The group calls exactly one of `settle` and `fail`, once. */
export type Waiter = {
  settle(outcome: HoldOutcome): void
  fail(error: unknown): void
  /** Returns the reason why the request could not be sent now; null when it can. */
  problem(): string | null
  /** Fetches the narrowed token of the request, if it needs one. Called before `problem`; never rejects. */
  prepare(): Promise<void>
}

/**
 * Events that wake a group. After `refresh` the group reads the state of its approval, because it may have missed a
 * verdict.
 */
type Signal =
  | {
      readonly kind: 'verdict'
      readonly status: VerdictMessage['status']
      readonly by: string | null
      readonly note: string | null
    }
  | { readonly kind: 'refresh' | 'deadline' | 'empty' }

export type HoldGroupDeps = {
  readonly calls: HoldClient
  readonly random: () => number
  /** Returns a verdict that arrived before the reply that names its approval. */
  readonly earlyVerdict: (approvalId: string) => VerdictMessage | null
  readonly log: Pick<Log, 'warn'>
  /** Time in milliseconds after the expiry of the approval for which the group still waits for a verdict. */
  readonly graceMs: number
}

/**
 * Longest time in milliseconds for which calls to an unreachable control plane are repeated, once the approval exists.
 */
const RETRY_MS = 30_000

/**
 * Group of all held requests of this process with one binding, the hash of what an approval covers. The requests share
 * one approval card. An approval releases one request; the group requests another approval for the remaining requests.
 */
export class HoldGroup {
  readonly #hold: HoldBody
  readonly #deps: HoldGroupDeps
  readonly #waiters = new Set<Waiter>()
  #approval: ApprovalCard | null = null
  #signals: Signal[] = []
  #wake: () => void = () => undefined
  #deadline: NodeJS.Timeout | null = null

  /** True while the last reply states that the approval is pending. */
  #isOpen = false

  constructor(hold: HoldBody, deps: HoldGroupDeps) {
    this.#hold = { ...hold, asker: randomUUID() }
    this.#deps = deps
  }

  get approvalId(): string | null {
    return this.#approval?.id ?? null
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter)
  }

  /**
   * Removes a waiter whose client disconnected or whose exchange was aborted. The approval stays pending. The control
   * plane receives a report when the last waiter has left.
   */
  leave(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter)) return
    waiter.settle({ kind: 'aborted', approvalId: this.approvalId })
    if (this.isEmpty) this.#signal({ kind: 'empty' })
  }

  verdict({ status, by, note }: VerdictMessage): void {
    this.#signal({ kind: 'verdict', status, by, note })
  }

  /** Makes the group read the state of its approval after a reconnect, because it may have missed a verdict. */
  refresh(): void {
    this.#signal({ kind: 'refresh' })
  }

  /** Runs the group until it has no waiters. Never rejects. */
  async run(): Promise<void> {
    try {
      await this.#open()
      while (!this.isEmpty) await this.#untilPassed()
    } catch (error) {
      this.#each((waiter) => waiter.fail(error))
    } finally {
      this.#stopTimer()
      if (this.#isOpen) void this.#reportLeave()
    }
  }

  /** Fails all waiters when the process stops. */
  fail(error: unknown): void {
    this.#isOpen = false
    this.#each((waiter) => waiter.fail(error))
    this.#signal({ kind: 'empty' })
  }

  /** Requests an approval. An approval that is already granted is used immediately. */
  async #open(): Promise<void> {
    const opened = await this.#deps.calls.ask(this.#hold)
    if (opened.outcome === 'approved') await this.#prepare()
    this.#opened(opened)
  }

  /** Calls `prepare` of the request that would be sent next. */
  async #prepare(): Promise<void> {
    await [...this.#waiters].at(-1)?.prepare()
  }

  /**
   * Reports that no request waits for the approval. Without the report, the approval counts against the limit of the
   * agent until it expires. Never rejects.
   */
  async #reportLeave(): Promise<void> {
    const { binding, asker = '' } = this.#hold
    const backoff = createControlBackOff(this.#deps.random, 125, 2_000)
    for (let waited = 0; waited < RETRY_MS; ) {
      if (await this.#deps.calls.leave(this.#approval?.id ?? '', { binding, asker })) return
      const ms = backoff.next()
      waited += ms
      await sleep(ms)
    }
  }

  /** Waits for the next event. Releases one request after an approval, or ends the group after another verdict. */
  async #untilPassed(): Promise<void> {
    const signal = await this.#next()
    if (signal.kind === 'empty' || this.isEmpty) return
    if (signal.kind === 'verdict' && isEnd(signal.status)) this.#end(signal.status, signal.note)
    else await this.#use(signal)
  }

  /**
   * Returns the reason why the requests of the group could not be sent now; null when they could be sent. All of them
   * have one connector, and thus one credential.
   */
  #problem(): string | null {
    return [...this.#waiters].at(-1)?.problem() ?? null
  }

  /** Spends the approval, or only reads its state while no request of the group could be sent. */
  async #spend(): Promise<Step> {
    const { calls } = this.#deps
    const id = this.#approval?.id ?? ''
    await this.#prepare()
    const isSendable = !this.isEmpty && this.#problem() === null
    return stepAfter(await (isSendable ? calls.spend(id, this.#hold.binding) : calls.read(id)))
  }

  /**
   * Spends the approval and acts on the result. When the approval cannot be spent any more (`again`), the group
   * requests another approval. The reply to that request may name an approval that is already granted.
   */
  async #use(signal: Signal): Promise<void> {
    const step = await this.#spend()
    if (isEnd(step)) this.#end(step, null)
    else if (step === 'pass') this.#pass(signal.kind === 'verdict' ? signal.by : null)
    else if (signal.kind === 'deadline' && step !== 'again') this.#end('expired', null)
    else if (step === 'later') this.#refreshLater()
    if ((step === 'pass' || step === 'again') && !this.isEmpty) await this.#requestAgain()
  }

  /** Requests another approval for the remaining waiters, because one approval releases one request only. */
  async #requestAgain(): Promise<void> {
    const backoff = createControlBackOff(this.#deps.random, 125, 2_000)
    for (let waited = 0; ; ) {
      try {
        await this.#open()
        return
      } catch (error) {
        if (waited >= RETRY_MS || this.isEmpty) throw error
      }
      const ms = backoff.next()
      waited += ms
      await sleep(ms)
    }
  }

  #opened({ outcome, approval }: Awaited<ReturnType<HoldClient['ask']>>): void {
    this.#approval = approval
    this.#isOpen = outcome === 'created' || outcome === 'joined'
    if (outcome === 'deferred') {
      this.#each((waiter) => waiter.settle({ kind: 'deferred', approvalId: approval.id }))
      return
    }
    this.#signals = this.#signals.filter((signal) => signal.kind === 'empty')
    this.#startTimer(Date.parse(approval.expires_at) - Date.parse(approval.created_at))
    const early = this.#deps.earlyVerdict(approval.id)
    if (outcome === 'approved') this.#approved(approval)
    else if (early !== null) this.verdict(early)
  }

  /** Uses an approval that is already granted, or refuses the requests if they could not be sent now. */
  #approved({ responded_by: by, note }: ApprovalCard): void {
    const problem = this.#problem()
    if (problem === null) this.#signal({ kind: 'verdict', status: 'approved', by, note })
    else this.#refuse(problem)
  }

  #pass(by: string | null): void {
    const approvalId = this.#approval?.id ?? ''
    // The newest waiter is released: a client that retries may have left the connection of its first attempt open.
    const latest = [...this.#waiters].at(-1)
    if (latest === undefined) {
      this.#deps.log.warn(
        { approval: approvalId },
        'approval was used, but nothing was sent, because the client of the request has disconnected',
      )
      return
    }
    this.#isOpen = false
    this.#waiters.delete(latest)
    latest.settle({ kind: 'approved', approvalId, by })
  }

  #end(kind: End, note: string | null): void {
    this.#isOpen = false
    const approvalId = this.#approval?.id ?? ''
    this.#each((waiter) => waiter.settle({ kind, approvalId, note }))
  }

  #refuse(note: string): void {
    this.#isOpen = false
    const approvalId = this.#approval?.id ?? ''
    this.#each((waiter) => waiter.settle({ kind: 'unavailable', approvalId, note }))
  }

  #each(act: (waiter: Waiter) => void): void {
    const all = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of all) act(waiter)
  }

  #signal(signal: Signal): void {
    this.#signals.push(signal)
    this.#wake()
  }

  async #next(): Promise<Signal> {
    while (true) {
      const signal = this.#signals.shift()
      if (signal !== undefined) return signal
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #refreshLater(): void {
    setTimeout(() => this.refresh(), 1_000 + this.#deps.random() * 1_000).unref()
  }

  #startTimer(lifeMs: number): void {
    this.#stopTimer()
    const ms = (Number.isFinite(lifeMs) ? lifeMs : 0) + this.#deps.graceMs
    this.#deadline = setTimeout(() => this.#signal({ kind: 'deadline' }), ms).unref()
  }

  #stopTimer(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline)
  }
}

type End = 'denied' | 'expired' | 'cancelled'
type Step = End | 'pass' | 'again' | 'wait' | 'later'

function isEnd(status: string): status is End {
  return status === 'denied' || status === 'expired' || status === 'cancelled'
}

function stepAfter(spent: SpendReply | 'unknown' | null): Step {
  if (spent === 'unknown') return 'again'
  if (spent === null) return 'later'
  if (spent.spent) return 'pass'
  if (isEnd(spent.status)) return spent.status
  return spent.status === 'pending' ? 'wait' : 'again'
}
