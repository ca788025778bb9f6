import { buildSnapshotInSteps } from '../../../core/snapshot/build.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { AckBody, DownMessage } from '../../../core/wire/gateway/sync.ts'
import { isoNow } from '../../process/clock.ts'
import type { Log } from '../../process/log.ts'
import { sleep } from '../../process/sleep.ts'
import { createControlBackOff } from '../back-off.ts'
import type { ControlClient } from '../client/client.ts'
import { fetchChanged, SectionIndexRefused, SectionReplaced } from './section-fetch.ts'

export type SectionIndex = Extract<DownMessage, { type: 'sections' }>

/** The one snapshot in force. A wrong manifest is refused and reported; the last good one stays. */
export type Snapshots = {
  current(): Snapshot | null
  /**
   * Applies the newest manifest offered; those before it that are not applied yet are skipped. One that is earlier than
   * what was offered before comes from a replica that lags, and is ignored. Returns at once.
   */
  offer(manifest: SectionIndex): void
  /** What a replica is told with each acknowledgement, so that it reads again what it lacks. */
  report(): Pick<AckBody, 'config_order'>
  close(): void
}

export type SnapshotsDeps = {
  readonly client: ControlClient
  readonly ack: (body: AckBody) => void
  readonly onSnapshot: (snapshot: Snapshot) => void
  readonly clock: Clock
  readonly random: () => number
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
}

export function createSnapshots(deps: SnapshotsDeps): Snapshots {
  let current: Snapshot | null = null
  let wanted: SectionIndex | null = null
  let order: StateOrder | null = null
  let attempt = new AbortController()
  let isRunning = false

  async function apply({ version, sections: hashes }: SectionIndex): Promise<void> {
    const sections = await fetchChanged(deps.client, hashes, current?.sections ?? {})
    const snapshot = await build({ version, sections, hashes }, current ?? undefined, deps.clock)
    current = snapshot
    deps.onSnapshot(snapshot)
    deps.ack({ version, applied_at: isoNow(deps.clock) })
    deps.log.info({ version }, 'snapshot applied')
  }

  /** Until it is applied, refused, or a newer one is wanted. */
  async function settle(manifest: SectionIndex, signal: AbortSignal): Promise<void> {
    const backoff = createControlBackOff(deps.random)
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await apply(manifest)
      } catch (error) {
        if (error instanceof SectionIndexRefused) return refuse(manifest.version, error)
        tellFailed(error, manifest.version, failures)
      }
      await sleep(backoff.next(), signal)
    }
  }

  /** A version that was replaced while it was fetched is ordinary: news of the next one end the pause. */
  function tellFailed(err: unknown, version: number, failures: number): void {
    const isOrdinary = failures === 1 && err instanceof SectionReplaced
    deps.log[isOrdinary ? 'debug' : 'warn']({ err, version }, 'sections cannot be fetched; trying again')
  }

  function refuse(version: number, error: SectionIndexRefused): void {
    const kept = current?.version ?? null
    deps.log.warn({ err: error, version, kept }, 'manifest refused; the last good snapshot stays')
    deps.ack({ rejected: { version, error: error.message }, applied_at: isoNow(deps.clock) })
  }

  async function run(): Promise<void> {
    isRunning = true
    for (let next = wanted; next !== null; next = wanted) {
      wanted = null
      attempt = new AbortController()
      await settle(next, attempt.signal)
    }
    isRunning = false
  }

  function ignore({ version }: SectionIndex): void {
    deps.log.debug({ version, order }, 'earlier manifest ignored')
    if (current !== null && !isRunning) deps.ack({ version: current.version, applied_at: isoNow(deps.clock) })
  }

  return {
    current: () => current,
    report: () => (order === null ? {} : { config_order: order }),
    offer(manifest) {
      if (isLate(manifest, order)) return ignore(manifest)
      order = manifest.order ?? order
      wanted = manifest
      if (isRunning) attempt.abort()
      else void run()
    },
    close() {
      wanted = null
      attempt.abort()
    },
  }
}

function isLate({ order }: SectionIndex, known: StateOrder | null): boolean {
  return order !== undefined && known !== null && isEarlier(order, known)
}

/** A slice that took less leaves the event loop for one turn; rules of a usual number are in force at once. */
const SHORT_MS = 2
const MAX_REST_MS = 10

/**
 * Slice by slice, so that traffic goes on while a hundred thousand rules are indexed: behind each of them it has the
 * loop for as long as it had to wait. A single turn would do no more than the answers that came in meanwhile.
 */
async function build(
  input: Parameters<typeof buildSnapshotInSteps>[0],
  previous: Snapshot | undefined,
  { monotonicMs }: Clock,
): Promise<Snapshot> {
  try {
    const steps = buildSnapshotInSteps(input, previous)
    for (;;) {
      const since = monotonicMs()
      const step = steps.next()
      if (step.done) return step.value
      await rest(monotonicMs() - since)
    }
  } catch (error) {
    throw new SectionIndexRefused(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms < SHORT_MS) setImmediate(resolve)
    else setTimeout(resolve, Math.min(ms, MAX_REST_MS))
  })
}
