import { buildSnapshotInSteps } from '../../../core/snapshot/build.ts'
import { notUnderstoodWarnings, type Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { AckBody, DownMessage } from '../../../core/wire/gateway/sync.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { isoNow } from '../../process/clock.ts'
import type { Log } from '../../process/log.ts'
import { createControlBackOff } from '../back-off.ts'
import type { ControlClient } from '../client/client.ts'
import { fetchChanged, SectionIndexRefused, SectionReplaced } from './section-fetch.ts'

export type SectionIndex = Extract<DownMessage, { type: 'sections' }>

/**
 * Holds the current snapshot. An invalid section index is refused and reported; the last valid snapshot then stays
 * current.
 */
export type Snapshots = {
  current(): Snapshot | null
  /**
   * Applies a section index. A newer index replaces one that is not applied yet. An index that is older than one
   * received before comes from a replica that lags, and is ignored. Returns immediately.
   */
  offer(index: SectionIndex): void
  /**
   * Returns the epoch and revision of the latest configuration that this process received, for acknowledgements. By
   * these numbers, a replica detects that it lacks newer configuration.
   */
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
    const warnings = notUnderstoodWarnings(snapshot)
    if (warnings.length > 0)
      deps.log.warn(
        { version, warnings },
        'the configuration uses features of a newer gateway version; requests that need these features are denied',
      )
  }

  /** Applies the index. Retries with back-off until the index is applied, refused or superseded. */
  async function settle(index: SectionIndex, signal: AbortSignal): Promise<void> {
    const backoff = createControlBackOff(deps.random)
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await apply(index)
      } catch (error) {
        if (error instanceof SectionIndexRefused) return refuse(index.version, error)
        logFailure(error, index.version, failures)
      }
      await sleep(backoff.next(), signal)
    }
  }

  /**
   * Logs a failed attempt to fetch the sections. When a newer version has replaced this version, the first failure is
   * not logged as a warning: the section index of the newer version ends the back-off.
   */
  function logFailure(err: unknown, version: number, failures: number): void {
    const isOrdinary = failures === 1 && err instanceof SectionReplaced
    deps.log[isOrdinary ? 'debug' : 'warn'](
      { err, version },
      'parts of a new configuration cannot be fetched; the configuration in force stays, and the gateway tries again',
    )
  }

  function refuse(version: number, error: SectionIndexRefused): void {
    const kept = current?.version ?? null
    deps.log.warn(
      { err: error, version, kept },
      'new configuration refused; the last valid configuration stays in force',
    )
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
    deps.log.debug({ version, order }, 'older configuration ignored')
    if (current !== null && !isRunning) deps.ack({ version: current.version, applied_at: isoNow(deps.clock) })
  }

  return {
    current: () => current,
    report: () => (order === null ? {} : { config_order: order }),
    offer(index) {
      if (isLate(index, order)) return ignore(index)
      order = index.order ?? order
      wanted = index
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

/**
 * Duration of a slice in milliseconds below which other work gets only one turn of the event loop between two slices. A
 * snapshot with a usual number of rules is therefore applied almost immediately.
 */
const SHORT_MS = 2
const MAX_REST_MS = 10

/**
 * Builds the snapshot in slices, so that traffic continues while 100,000 rules are indexed. After each slice, traffic
 * gets the event loop for as long as the slice took, at most `MAX_REST_MS`. A single turn would serve only the requests
 * that arrived during the slice.
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
