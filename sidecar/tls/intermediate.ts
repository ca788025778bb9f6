import { backOffLimitMs } from '../../core/state/back-off.ts'
import { type PermittedNames, permittedNames } from '../../core/x509/name-constraints.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { Log } from '../process/log.ts'
import { type Issued, issueCa, type Sign } from './issued-ca.ts'

/**
 * The intermediate CA certificate of a pod, which is renewed at two thirds of its lifetime, and reissued when the
 * terminated hosts change.
 */
export type Intermediate = {
  readonly current: Issued | null
  /**
   * Requests the first certificate. Resolves with false when the control plane signs none within `patienceMs`
   * milliseconds; the pod then has no intermediate.
   */
  first(patienceMs: number): Promise<boolean>
  /**
   * Sets the hosts whose TLS is terminated. Requests another certificate when the permitted names of the current one
   * differ.
   */
  cover(hosts: readonly string[]): void
  close(): void
}

export type IntermediateDeps = {
  readonly name: string
  readonly sign: Sign
  /** Called when a new intermediate has been issued. The new intermediate signs all later leaves. */
  readonly onIssued: () => void
  readonly random: () => number
  /** Clock of the renewal in Unix milliseconds; default: the system clock. */
  readonly nowMs?: () => number
  /** Clock of the time since the hosts changed, in milliseconds; default: the monotonic clock of the process. */
  readonly monotonicMs?: () => number
  /** Interval in milliseconds at which the clock is checked for a due renewal; default: one minute. */
  readonly checkMs?: number
  readonly log: Pick<Log, 'info' | 'warn'>
}

const RETRY_MS = 1_000
/**
 * Interval in milliseconds at which the clock is checked for a due renewal. A long timer would not advance while a node
 * is suspended.
 */
const CHECK_MS = 60_000
/**
 * Maximum random delay of a request in milliseconds. The delay spreads the requests of a fleet after a change of
 * Connectors, and is well below the 5 s within which certificates are reissued.
 */
const SPREAD_MS = 1_500
/**
 * Time in milliseconds after a change of the hosts for which certificates with other names are explained by a replica
 * that lags. Requests in this time start less than 5 s apart, the spread included, unless one takes longer.
 */
const LAG_MS = 60_000
const LAG_RETRY = { firstMs: RETRY_MS, maxMs: 3_000 }
/**
 * First and maximum back-off in milliseconds after that time. The difference then has another cause, for example
 * different versions of the program.
 */
const REISSUE_RETRY = { firstMs: 4_000, maxMs: 600_000 }

export function createIntermediate(deps: IntermediateDeps): Intermediate {
  const { name, sign, onIssued, log, nowMs = Date.now, checkMs = CHECK_MS } = deps
  let current: Issued | null = null
  let renewal: NodeJS.Timeout | undefined
  let renewAtMs = 0
  let isRenewing = false
  let isClosed = false
  const reissue = createReissue(deps, () => current?.permitted ?? null, issue)

  async function issue(): Promise<void> {
    const issued = await issueCa(name, sign, nowMs)
    if (isClosed) return
    current = issued
    const until = new Date(issued.notAfterMs).toISOString()
    log.info({ until, names: issued.permitted?.length ?? null }, 'sidecar certificate issued')
    // The local clock may be ahead of the control plane's clock by more than the lifetime of the certificate, so the
    // time until the renewal has a minimum.
    renewAtMs = nowMs() + Math.max(((issued.notAfterMs - nowMs()) * 2) / 3, CHECK_MS)
    renewal ??= setInterval(() => void renewIfDue(), checkMs).unref()
    onIssued()
    reissue.compare()
  }

  async function renewIfDue(): Promise<void> {
    if (isRenewing || nowMs() < renewAtMs) return
    isRenewing = true
    try {
      await issue()
    } catch (error) {
      log.warn(
        { err: error },
        'sidecar certificate could not be renewed and stays in use until it expires; retrying',
      )
    }
    isRenewing = false
  }

  return {
    get current() {
      return current
    },
    async first(patienceMs) {
      const untilMs = performance.now() + patienceMs
      for (;;) {
        try {
          await issue()
          return true
        } catch (error) {
          log.warn({ err: error }, 'sidecar certificate not issued yet')
        }
        if (isClosed || performance.now() + RETRY_MS > untilMs) return false
        await sleep(RETRY_MS)
      }
    },
    cover: reissue.cover,
    close() {
      isClosed = true
      clearInterval(renewal)
      reissue.close()
    },
  }
}

/**
 * Keeps the permitted names of the certificate equal to the names of the terminated hosts, by requests for new
 * certificates.
 */
function createReissue(
  { random, log, monotonicMs = () => performance.now() }: IntermediateDeps,
  permitted: () => PermittedNames | null,
  issue: () => Promise<void>,
) {
  // Names that the certificate must permit. Null before the first snapshot: any permitted names are accepted.
  let wanted: PermittedNames | null = null
  /** Attempts since the hosts changed, and those of them after `LAG_MS`. */
  let [attempts, lateAttempts] = [0, 0]
  /** Times of the change of the hosts, and of the start of the last attempt. */
  let [changedAtMs, startedAtMs] = [0, 0]
  let timer: NodeJS.Timeout | undefined
  let isIssuing = false
  let isClosed = false

  /** Requests another certificate if needed. Open connections keep the replaced certificate, which stays valid. */
  function compare(): void {
    const present = permitted()
    // `present` is also null when the control plane has an earlier version, whose certificates permit every name.
    if (present === null || wanted === null || isSame(present, wanted)) return
    if (isIssuing || isClosed) return
    clearTimeout(timer)
    const isLate = attempts > 0 && monotonicMs() - changedAtMs >= LAG_MS
    const pauseMs = backOffMs(isLate) + random() * SPREAD_MS
    // Within `LAG_MS`, the pause begins at the start of the last attempt, which may have taken long.
    const passedMs = attempts === 0 || isLate ? 0 : monotonicMs() - startedAtMs
    timer = setTimeout(() => void attempt(isLate), Math.max(pauseMs - passedMs, 0)).unref()
  }

  function backOffMs(isLate: boolean): number {
    if (attempts === 0) return 0
    return isLate ? backOffLimitMs(lateAttempts, REISSUE_RETRY) : backOffLimitMs(attempts - 1, LAG_RETRY)
  }

  async function attempt(isLate: boolean): Promise<void> {
    if (isLate) lateAttempts++
    attempts++
    startedAtMs = monotonicMs()
    isIssuing = true
    try {
      await issue()
    } catch (error) {
      log.warn(
        { err: error },
        'sidecar certificate could not be issued for the changed hosts; until it is, the root of this pod signs for new hosts; retrying',
      )
    }
    isIssuing = false
    compare()
  }

  return {
    compare,
    cover(hosts: readonly string[]): void {
      const names = permittedNames(hosts)
      if (wanted !== null && isSame(wanted, names)) return
      wanted = names
      attempts = 0
      lateAttempts = 0
      changedAtMs = monotonicMs()
      compare()
    },
    close(): void {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

function isSame(a: PermittedNames, b: PermittedNames): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index])
}
