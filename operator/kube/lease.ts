import type { Logger } from 'pino'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from './client.ts'
import { hasCode } from './kube-failure.ts'
import { pathOf, RESOURCES } from './objects.ts'

export type LeaseTiming = {
  /** Time in milliseconds without a renewal after which another candidate acquires the lease. */
  readonly durationMs: number
  /** Time in milliseconds without a successful renewal after which the leader stops. */
  readonly renewDeadlineMs: number
  readonly retryMs: number
}

const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

export type ElectionDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly namespace: string
  readonly name: string
  /** Name of the candidate in the Lease, unique for every process. */
  readonly identity: string
  /** Leads until `signal` is aborted. No other process leads before the promise settles or the lease expires. */
  readonly lead: (signal: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly timing?: LeaseTiming
}

export type Election = {
  isLeader(): boolean
  /** Stops leading and releases the lease, so that the next leader need not wait for its expiry. */
  stop(): Promise<void>
}

type Lease = {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string }
  readonly spec: {
    readonly holderIdentity?: string
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseTransitions?: number
  }
}

/**
 * Elects one leader at a time by a Lease. Clocks of other processes are not trusted: a lease has expired when the Lease
 * object did not change within its duration, measured by the local clock. The leader counts its renew deadline from the
 * moment at which it sent its last renewal, so it stops before another candidate starts.
 */
export function createElection(deps: ElectionDeps): Election {
  const { timing = LEASE_TIMING } = deps
  const stopped = new AbortController()
  const lock = createLeaseLock(deps, timing)
  let isLeader = false

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (await lock.tryAcquire(stopped.signal)) await term()
      await sleep(timing.retryMs * (0.8 + 0.4 * Math.random()), stopped.signal)
    }
  }

  async function term(): Promise<void> {
    const ended = new AbortController()
    const signal = AbortSignal.any([ended.signal, stopped.signal])
    deps.log.info({ identity: deps.identity }, 'leading')
    isLeader = true
    const leading = deps.lead(signal).catch((error: unknown) => {
      deps.log.error({ err: error }, 'leader term ended with an error')
      ended.abort()
    })
    await keepRenewing(lock, timing, signal)
    isLeader = false
    ended.abort()
    deps.log.warn({ identity: deps.identity }, 'leadership lost')
    await leading
    if (stopped.signal.aborted) await lock.release()
  }

  const running = run()
  return {
    isLeader: () => isLeader,
    async stop() {
      stopped.abort()
      await running
    },
  }
}

/** Renews the lease until the signal is aborted, the renew deadline passes or another process holds the lease. */
async function keepRenewing(lock: LeaseLock, timing: LeaseTiming, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(timing.retryMs, signal)
    if (signal.aborted) return
    const leftMs = lock.renewedAt() + timing.renewDeadlineMs - performance.now()
    if (leftMs <= 0) return
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, Math.floor(leftMs)))])
    await lock.tryAcquire(limit)
    if (lock.isForeign()) return
  }
}

type LeaseLock = {
  /**
   * Acquires a free lease, or renews the lease of this process. Returns false when another process holds the lease or a
   * call failed.
   */
  tryAcquire(signal: AbortSignal): Promise<boolean>
  /** Returns the time at which the last successful renewal was sent, by the monotonic clock. */
  renewedAt(): number
  /** Returns true when another process held the lease at the last read. */
  isForeign(): boolean
  release(): Promise<void>
}

function createLeaseLock(deps: ElectionDeps, timing: LeaseTiming): LeaseLock {
  const { client, namespace, name, identity, log } = deps
  const path = pathOf(RESOURCES.Lease, namespace, name)
  const isFree = createExpiry(identity, timing)
  let renewedAt = Number.NEGATIVE_INFINITY
  let holder: string | undefined

  async function acquire(signal: AbortSignal): Promise<boolean> {
    const lease = await readLease(deps, timing.renewDeadlineMs, signal)
    holder = lease?.spec.holderIdentity
    if (lease !== null && !isFree(lease)) return false
    const sentAt = performance.now()
    const body = leaseBody(deps, lease, specOf(lease, identity, timing))
    const call =
      lease === null
        ? ({ method: 'POST', path: pathOf(RESOURCES.Lease, namespace) } as const)
        : ({ method: 'PUT', path } as const)
    await client.call({ ...call, body, signal, timeoutMs: timing.renewDeadlineMs })
    renewedAt = sentAt
    holder = identity
    return true
  }

  return {
    async tryAcquire(signal) {
      try {
        return await acquire(signal)
      } catch (error) {
        // Another process wrote the Lease first, which is no failure. The next retry reads the new holder.
        if (!hasCode(error, 'conflict') && !signal.aborted)
          log.warn({ err: error }, 'lease could not be renewed')
        return false
      }
    },
    renewedAt: () => renewedAt,
    isForeign: () => holder !== undefined && holder !== identity,
    async release() {
      try {
        const lease = await readLease(deps, timing.renewDeadlineMs, AbortSignal.timeout(timing.retryMs))
        if (lease?.spec.holderIdentity !== identity) return
        const body = leaseBody(deps, lease, { ...lease.spec, holderIdentity: '' })
        await client.call({ method: 'PUT', path, body, timeoutMs: timing.retryMs })
      } catch (error) {
        log.warn({ err: error }, 'lease could not be released; the next leader starts after its expiry')
      }
    },
  }
}

/**
 * Returns a function that reports whether this process may take a lease: the lease has no holder, this process is its
 * holder, or the Lease object did not change within the duration of the lease by the local clock.
 */
function createExpiry(identity: string, { durationMs }: LeaseTiming): (lease: Lease) => boolean {
  let last: { readonly text: string; readonly at: number } | null = null
  return ({ spec }) => {
    const text = JSON.stringify(spec)
    if (last?.text !== text) last = { text, at: performance.now() }
    if (!spec.holderIdentity || spec.holderIdentity === identity) return true
    return performance.now() - last.at > durationMs
  }
}

async function readLease(
  { client, namespace, name }: ElectionDeps,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Lease | null> {
  try {
    const path = pathOf(RESOURCES.Lease, namespace, name)
    return await client.call<Lease>({ method: 'GET', path, signal, timeoutMs })
  } catch (error) {
    if (hasCode(error, 'not_found')) return null
    throw error
  }
}

function leaseBody({ name, namespace }: ElectionDeps, lease: Lease | null, spec: Lease['spec']) {
  const head = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
  return { ...head, ...lease, metadata: lease?.metadata ?? { name, namespace }, spec }
}

function specOf(lease: Lease | null, identity: string, timing: LeaseTiming): Lease['spec'] {
  const now = `${new Date().toISOString().slice(0, -1)}000Z`
  const isOurs = lease?.spec.holderIdentity === identity
  const before = lease?.spec.leaseTransitions ?? 0
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(timing.durationMs / 1_000),
    acquireTime: isOurs ? (lease.spec.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: lease === null ? 0 : isOurs ? before : before + 1,
  }
}
