import type { Logger } from 'pino'
import { newId } from '../../crypto/ids.ts'
import type { Db } from '../../db/query.ts'
import { createSerial } from '../../sync/serial.ts'
import { Throttle } from '../../sync/throttle.ts'
import type { Deliver, Delivery } from './delivery.ts'
import { waitAfter } from './retry-schedule.ts'
import {
  endMessage,
  type Leased,
  leaseDue,
  OUTBOX_CHANNEL,
  type OutboxKind,
  pauseReceiver,
  purgeMessages,
  retryLater,
} from './store.ts'

export type OutboxDeps = {
  readonly db: Db
  readonly log: Logger
  readonly deliver: Readonly<Record<OutboxKind, Deliver>>
  /** Adds the messages that have become due. Runs before each read of the outbox. */
  readonly prepare?: () => Promise<void>
  /**
   * Returns the time for back-off and leases. Null, the default, means the clock of the database, which all replicas
   * share.
   */
  readonly now?: () => Date | null
  /** Returns a number between 0 and 1, for the jitter of waits. */
  readonly random?: () => number
}

const POLL_MS = 1_000
const PURGE_MS = 3_600_000
/**
 * Duration in seconds of the lease of a message: the time for which only one process may deliver the message. The
 * duration exceeds the longest attempt, so an expired lease shows that the process with the lease has ended.
 */
const LEASE_S = 30
const PER_RECEIVER = 4
const IN_FLIGHT = 256
const STOP_GRACE_MS = 1_000
const KEEP = { deliveredDays: 7, deadDays: 30, callbackS: 3_600 }

/**
 * Delivers the messages of the outbox until disposed. Disposal waits up to 1 s for requests in flight and then releases
 * their leases.
 */
export class Outbox implements AsyncDisposable {
  readonly #deps: OutboxDeps
  readonly #now: () => Date | null
  readonly #by = newId('process')
  readonly #stop = new AbortController()
  readonly #read: () => Promise<void>
  readonly #throttle: Throttle
  /** Deliveries in flight, each mapped to its receiver. */
  readonly #running = new Map<Promise<void>, string>()
  #timers: readonly NodeJS.Timeout[] = []
  #listening: AsyncDisposable | null = null
  #isStopping = false

  private constructor(deps: OutboxDeps) {
    this.#deps = deps
    this.#now = deps.now ?? (() => null)
    this.#read = createSerial(() => this.#startDue())
    // The throttle prevents one read per approval when many approvals arrive in quick succession. One read
    // covers all due messages.
    this.#throttle = new Throttle({
      work: () => this.#next(),
      clock: { monotonicMs: () => performance.now() },
      maxPauseMs: POLL_MS,
    })
  }

  static async start(deps: OutboxDeps): Promise<Outbox> {
    const outbox = new Outbox(deps)
    outbox.#listening = await deps.db.listen(OUTBOX_CHANNEL, () => outbox.wake())
    outbox.#timers = [setInterval(() => outbox.wake(), POLL_MS), setInterval(() => outbox.#purge(), PURGE_MS)]
    outbox.wake()
    outbox.#purge()
    return outbox
  }

  /** Reads the outbox now instead of at the next poll. */
  wake(): void {
    this.#throttle.request()
  }

  async #startDue(): Promise<void> {
    if (this.#isStopping) return
    await prepare(this.#deps)
    const limit = IN_FLIGHT - this.#running.size
    if (limit <= 0 || this.#isStopping) return
    const messages = await leaseDue(this.#deps.db, {
      by: this.#by,
      now: this.#now(),
      leaseS: LEASE_S,
      perReceiver: PER_RECEIVER,
      limit,
      busy: count(this.#running.values()),
    })
    for (const message of messages) this.#start(message)
  }

  #start(message: Leased): void {
    const work = attempt(this.#deps, message, { by: this.#by, now: this.#now, signal: this.#stop.signal })
      .catch((error: unknown) =>
        this.#deps.log.error({ err: error, event_id: message.eventId }, 'delivery not recorded'),
      )
      .finally(() => {
        this.#running.delete(work)
        void this.#next()
      })
    this.#running.set(work, message.receiver)
  }

  /** Reads the outbox at once, because a finished delivery makes room for another message. */
  #next(): Promise<void> {
    return this.#read().catch((error: unknown) =>
      this.#deps.log.error({ err: error }, 'outbox could not be read'),
    )
  }

  #purge(): void {
    const { db, log } = this.#deps
    purgeMessages(db, KEEP).catch((error: unknown) => log.error({ err: error }, 'outbox could not be purged'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#throttle[Symbol.dispose]()
    await this.#listening?.[Symbol.asyncDispose]()
    const cut = setTimeout(() => this.#stop.abort(), STOP_GRACE_MS)
    await this.#read()
    await Promise.all(this.#running.keys())
    clearTimeout(cut)
    this.#stop.abort()
  }
}

/**
 * Adds the messages that have become due. Logs an error instead of rejecting, so that messages that are due already are
 * still delivered.
 */
async function prepare({ prepare, log }: OutboxDeps): Promise<void> {
  await prepare?.().catch((error: unknown) => log.error({ err: error }, 'outbox could not be filled'))
}

type Attempt = { readonly by: string; readonly now: () => Date | null; readonly signal: AbortSignal }

async function attempt(deps: OutboxDeps, message: Leased, given: Attempt): Promise<void> {
  const delivery = await deps.deliver[message.kind](message, given.signal).catch(
    (error: unknown): Delivery => ({
      outcome: 'failed',
      why: error instanceof Error ? error.message : String(error),
      status: null,
    }),
  )
  if (given.signal.aborted && delivery.outcome === 'failed') return releaseLease(deps, message, given)
  await conclude(deps, message, { ...given, delivery })
}

/** Releases the lease of a message at shutdown, so that another replica delivers the message. */
async function releaseLease({ db }: OutboxDeps, { id }: Leased, { by, now }: Attempt): Promise<void> {
  await retryLater(db, { id, by, now: now(), inS: 0, isCounted: false, error: null, status: null })
}

async function conclude(
  deps: OutboxDeps,
  message: Leased,
  { delivery, by, now }: Attempt & { readonly delivery: Delivery },
): Promise<void> {
  const { db, log } = deps
  const about = { event_id: message.eventId, event: message.event, receiver: message.receiver }
  const end = { id: message.id, by, status: 'status' in delivery ? delivery.status : null }
  switch (delivery.outcome) {
    case 'delivered':
      await db.tx(async (q) => {
        if (await endMessage(q, { ...end, state: 'delivered', error: null })) await delivery.store?.(q)
      })
      log.debug({ ...about, attempts: message.attempts }, 'notification delivered')
      return
    case 'obsolete':
      await endMessage(db, { ...end, state: 'obsolete', error: delivery.why })
      return
    case 'refused':
      await endMessage(db, { ...end, state: 'dead', error: delivery.why })
      log.error({ ...about, why: delivery.why }, 'notification refused for good')
      return
    case 'slow_down': {
      const { why, retryAfterS } = delivery
      await retryLater(db, {
        ...end,
        now: now(),
        inS: retryAfterS,
        isCounted: false,
        error: why,
        status: 429,
      })
      await pauseReceiver(db, { receiver: message.receiver, now: now(), forS: retryAfterS })
      return
    }
    case 'failed':
      await fail(deps, message, { by, now: now(), delivery, about })
  }
}

async function fail(
  { db, log, random = Math.random }: OutboxDeps,
  { id, attempts }: Leased,
  given: {
    readonly by: string
    readonly now: Date | null
    readonly delivery: Extract<Delivery, { outcome: 'failed' }>
    readonly about: Readonly<Record<string, string>>
  },
): Promise<void> {
  const { by, now, delivery, about } = given
  const { why, status } = delivery
  const planned = waitAfter(attempts, random())
  if (planned === null) {
    await endMessage(db, { id, by, state: 'dead', error: why, status })
    log.error({ ...about, attempts, why }, 'notification given up')
    return
  }
  const inS = Math.max(planned, delivery.retryAfterS ?? 0)
  await retryLater(db, { id, by, now, inS, isCounted: true, error: why, status })
  log.warn({ ...about, attempts, why, retry_in_s: Math.round(inS) }, 'notification not delivered yet')
}

function count(receivers: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const receiver of receivers) counts.set(receiver, (counts.get(receiver) ?? 0) + 1)
  return counts
}
