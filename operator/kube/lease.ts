import type { Logger } from 'pino'
import type { KubeClient } from './client.ts'
import { hasCode } from './kube-failure.ts'
import { pathOf, RESOURCES } from './objects.ts'
import { sleep } from './sleep.ts'

export type LeaseTiming = {
  /** Nobody else leads before the holder was silent for so long. */
  readonly durationMs: number
  /** A leader that could not renew for so long stops leading. */
  readonly renewDeadlineMs: number
  readonly retryMs: number
}

export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

export type ElectionDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly namespace: string
  readonly name: string
  /** Different for every process. */
  readonly identity: string
  /** Leads until `signal` is aborted; nobody else leads before it has returned or the lease has run out. */
  readonly lead: (signal: AbortSignal) => Promise<void>
  readonly log: Logger
  readonly timing?: LeaseTiming
}

export type Election = {
  isLeader(): boolean
  /** Stops leading, gives the lease back, so that the next one need not wait, and ends. */
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
 * One leader at a time. The clocks of the others are not believed: a lease has run out when it did not change for its
 * duration by our own clock. The leader counts from before its renewal was sent, so it stops before anybody starts.
 */
export function createElection(deps: ElectionDeps): Election {
  const { timing = LEASE_TIMING } = deps
  const stopped = new AbortController()
  const lock = createLeaseLock(deps, timing)
  let isLeader = false

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (await lock.tryTake(stopped.signal)) await term()
      await sleep(timing.retryMs * (0.8 + 0.4 * Math.random()), stopped.signal)
    }
  }

  async function term(): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stopped.signal])
    deps.log.info({ identity: deps.identity }, 'leading')
    isLeader = true
    const leading = deps.lead(signal).catch((error: unknown) => {
      deps.log.error({ err: error }, 'leading ended with an error')
      over.abort()
    })
    await keep(lock, timing, signal)
    isLeader = false
    over.abort()
    deps.log.warn({ identity: deps.identity }, 'not leading any more')
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

/** Renews until the signal is aborted or the deadline passed without success. */
async function keep(lock: LeaseLock, timing: LeaseTiming, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(timing.retryMs, signal)
    if (signal.aborted) return
    const leftMs = lock.renewedAt() + timing.renewDeadlineMs - performance.now()
    if (leftMs <= 0) return
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, Math.floor(leftMs)))])
    await lock.tryTake(limit)
    if (lock.isForeign()) return
  }
}

type LeaseLock = {
  /** Takes a free lease or renews our own. False when somebody else has it or the API server did not answer. */
  tryTake(signal: AbortSignal): Promise<boolean>
  /** When the last successful renewal was sent, by the monotonic clock. */
  renewedAt(): number
  /** Somebody else holds it, as far as was seen last. */
  isForeign(): boolean
  release(): Promise<void>
}

function createLeaseLock(
  { client, namespace, name, identity, log }: ElectionDeps,
  timing: LeaseTiming,
): LeaseLock {
  const path = pathOf(RESOURCES.Lease, namespace, name)
  let seen: { readonly text: string; readonly at: number } | null = null
  let renewedAt = Number.NEGATIVE_INFINITY
  let holder: string | undefined

  const read = async (signal: AbortSignal): Promise<Lease | null> => {
    try {
      return await client.call<Lease>({ method: 'GET', path, signal, timeoutMs: timing.renewDeadlineMs })
    } catch (error) {
      if (hasCode(error, 'not_found')) return null
      throw error
    }
  }

  /** By our own clock: how long it has stood as it is. */
  function isFree({ spec }: Lease): boolean {
    const text = JSON.stringify(spec)
    if (seen?.text !== text) seen = { text, at: performance.now() }
    if (!spec.holderIdentity || spec.holderIdentity === identity) return true
    return performance.now() - seen.at > timing.durationMs
  }

  async function take(signal: AbortSignal): Promise<boolean> {
    const lease = await read(signal)
    holder = lease?.spec.holderIdentity
    if (lease !== null && !isFree(lease)) return false
    const sentAt = performance.now()
    const wanted = { ...leaseOf(lease), spec: specOf(lease, identity, timing) }
    const call =
      lease === null
        ? ({ method: 'POST', path: pathOf(RESOURCES.Lease, namespace) } as const)
        : ({ method: 'PUT', path } as const)
    await client.call({ ...call, body: wanted, signal, timeoutMs: timing.renewDeadlineMs })
    renewedAt = sentAt
    holder = identity
    return true
  }

  function leaseOf(lease: Lease | null) {
    const head = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
    return { ...head, ...lease, metadata: lease?.metadata ?? { name, namespace } }
  }

  return {
    async tryTake(signal) {
      try {
        return await take(signal)
      } catch (error) {
        // Another candidate was faster: it is seen with the next look.
        if (!hasCode(error, 'conflict') && !signal.aborted) log.warn({ err: error }, 'lease not renewed')
        return false
      }
    },
    renewedAt: () => renewedAt,
    isForeign: () => holder !== undefined && holder !== identity,
    async release() {
      try {
        const lease = await read(AbortSignal.timeout(timing.retryMs))
        if (lease?.spec.holderIdentity !== identity) return
        const spec = { ...lease.spec, holderIdentity: '' }
        const body = { ...leaseOf(lease), spec }
        await client.call({ method: 'PUT', path, body, timeoutMs: timing.retryMs })
      } catch (error) {
        log.warn({ err: error }, 'lease not given back; the next leader waits until it has run out')
      }
    },
  }
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
