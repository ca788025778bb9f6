import type { Resolve } from '../../../core/request/outbound-address.ts'
import type { Check, HealthReply } from '../../../core/wire/health.ts'
import { currentVersion } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import { CallError, callGateway, checkAddress, resolveByDns } from '../gateways/dial.ts'
import { listGateways } from '../gateways/rows.ts'
import { hasGatewayWithPod } from '../pods/rows.ts'

const TIMEOUT_MS = 2_000
const MAX_BODY = 64 * 1024

type FailedCheck = NonNullable<Check['error']>

export type HealthDeps = {
  readonly db: Db
  /** Returns the ids of the gateways that are connected to any replica. */
  readonly connected: () => ReadonlySet<string>
  /** Returns the setting `gateway_url`; null when it is not set. */
  readonly gatewayUrl: () => Promise<string | null>
  readonly resolve?: Resolve
}

export type Health = {
  /** Checks the database, its writes included, and the gateway, each within 2 s (spec 4.4). */
  report(): Promise<HealthReply>
  /** Reports whether the database answers reads. This process cannot serve requests without the database. */
  ready(): Promise<boolean>
}

export function createHealth(deps: HealthDeps): Health {
  const { db } = deps
  const checkDatabase = createDatabaseCheck(db)
  let pendingReport: Promise<HealthReply> | null = null
  let pendingReady: Promise<boolean> | null = null
  return {
    // The endpoints of both health checks are public. Concurrent callers share one result, so that unauthenticated
    // callers cannot overload the database.
    report() {
      pendingReport ??= check(deps, checkDatabase).finally(() => {
        pendingReport = null
      })
      return pendingReport
    },
    ready() {
      pendingReady ??= timed(() => currentVersion(db))
        .then(({ status }) => status === 'ok')
        .finally(() => {
          pendingReady = null
        })
      return pendingReady
    },
  }
}

/**
 * Milliseconds for which the database counts as unhealthy after a write failed because of a full disk. The health
 * check itself cannot detect a full disk, because its write needs no disk space. Gateways repeat failed writes
 * several times in this period.
 */
const FULL_DISK_MS = 10_000

/** Milliseconds for which the result of the database check is cached, so that not every call causes a write. */
const KEPT_MS = 1_000

/**
 * Returns a check of the database that locks a row. The lock is a write that needs no disk space and does not
 * wait for transactions that change the configuration.
 */
function createDatabaseCheck(db: Db): () => Promise<Check> {
  const lock = () => db.query('select 1 from config_version for key share', [])
  let kept: { readonly check: Check; readonly until: number } | null = null
  return async () => {
    if (kept === null || performance.now() >= kept.until)
      kept = { check: await timed(lock), until: performance.now() + KEPT_MS }
    const { check } = kept
    if (check.status === 'ok' && db.msSinceFullDisk() < FULL_DISK_MS)
      return { ...check, status: 'error', error: 'unavailable' }
    return check
  }
}

async function check(deps: HealthDeps, database: () => Promise<Check>): Promise<HealthReply> {
  const [databaseCheck, gatewayCheck] = await Promise.all([database(), timed(() => gateway(deps))])
  const isHealthy = databaseCheck.status === 'ok' && gatewayCheck.status === 'ok'
  return {
    status: isHealthy ? 'healthy' : 'degraded',
    timestamp: new Date().toISOString(),
    checks: { database: databaseCheck, gateway: gatewayCheck },
  }
}

/**
 * Checks the gateway at the setting `gateway_url`. When the setting is not set, the check passes if any gateway is
 * connected, or if no gateway can connect.
 */
async function gateway(deps: HealthDeps): Promise<void> {
  const url = await deps.gatewayUrl()
  if (url !== null) return probe(url, deps.resolve ?? resolveByDns)
  if (deps.connected().size > 0) return
  if (await canConnect(deps.db)) throw new CheckFailure('unavailable')
}

/**
 * Reports whether a Gateway has a token, or a pod whose sidecar authenticates by the token of the pod. A Gateway with
 * neither has a manifest but no process, in an installation that only uses policies. The check must not fail because
 * this Gateway is not connected.
 */
async function canConnect(db: Db): Promise<boolean> {
  const hasToken = (await listGateways(db)).some((row) => row.tokenSha256 !== null)
  return hasToken || hasGatewayWithPod(db)
}

async function probe(url: string, resolve: Resolve): Promise<void> {
  const place = await checkAddress(url, resolve)
  if (typeof place === 'string') throw new CheckFailure('unreachable')
  const call = { method: 'GET', target: '/health', headers: ['Host', place.url.host], body: null }
  const answer = await callGateway(place, { ...call, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BODY }).catch(
    (error: unknown) => {
      const isLate = error instanceof CallError && error.isLate
      throw new CheckFailure(isLate ? 'Timeout' : 'unreachable', error)
    },
  )
  if (answer.status < 200 || answer.status > 299) throw new CheckFailure('unavailable')
}

/**
 * Error of a health check. `outcome` is the part that a public response contains. The response does not contain
 * messages of drivers, because these messages name hosts and database roles.
 */
class CheckFailure extends Error {
  readonly outcome: FailedCheck

  constructor(outcome: FailedCheck, cause?: unknown) {
    super(outcome, { cause })
    this.outcome = outcome
  }
}

async function timed(work: () => Promise<unknown>): Promise<Check> {
  const startedAt = performance.now()
  const latencyMs = () => Math.round((performance.now() - startedAt) * 100) / 100
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new CheckFailure('Timeout')), { once: true })
  })
  try {
    await Promise.race([work(), late])
    return { status: 'ok', latencyMs: latencyMs() }
  } catch (error) {
    return {
      status: 'error',
      latencyMs: latencyMs(),
      error: error instanceof CheckFailure ? error.outcome : 'unavailable',
    }
  }
}
