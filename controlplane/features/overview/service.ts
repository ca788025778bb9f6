import type { FloorRules } from '../../../core/crd/gateway/floors.ts'
import { killsIn } from '../../../core/decision/kill-switch/kills-in.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { GatewayLive } from '../../../core/wire/gateways.ts'
import type { GatewayState, OverviewReply } from '../../../core/wire/overview.ts'
import type { Db } from '../../db/query.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { stopsGateway } from '../../sync/kill-switch/state.ts'
import type { OwnerTokenWarnings } from '../authentication/break-glass.ts'
import { atItsFloor } from '../gateways/floor.ts'
import { type GatewayRow, listGatewaysIn } from '../gateways/rows.ts'
import { type Origins, readOrigins } from '../manifests/object-origins.ts'
import { hasTraffic, inventory } from './activity-store.ts'

export type OverviewDeps = {
  readonly db: Pick<Db, 'isPolling'>
  readonly read: ScopedReads
  readonly orgId: string
  readonly kills: () => readonly KillEntry[]
  readonly liveOf: (gatewayId: string) => GatewayLive | null
  readonly nowMs: () => number
  /** Rules of the minimum strictness of Gateways (`GATEWAY_FLOORS`). When absent, there is no minimum. */
  readonly floorRules?: FloorRules
  readonly ownerTokenWarnings: OwnerTokenWarnings
  /** Returns a sentence for each notification channel and each destination of records that fails. */
  readonly deliveryWarnings: () => Promise<readonly string[]>
}

export type Overview = (namespaces: Namespaces) => Promise<OverviewReply>

/** Milliseconds without a report after which a gateway process does not count as running. */
const STALE_MS = 30_000

/**
 * Returns the state of gateways, kill switches and approvals in the namespaces. The state contains no secrets, so every
 * role may read it.
 */
export function createOverview(deps: OverviewDeps): Overview {
  const { db, read, orgId, kills, ownerTokenWarnings, deliveryWarnings } = deps
  return async (namespaces) => {
    const query = read(namespaces)
    const [gateways, origins, counts, isUsed] = await Promise.all([
      listGatewaysIn(query),
      readOrigins(query),
      inventory(query, orgId),
      hasTraffic(query, orgId),
    ])
    return {
      gateways: gateways.map((row) => gatewayState(row, origins, deps)),
      kill_switches: killsIn(namespaces, kills()),
      pending_approvals: counts.pending,
      agents: { active: counts.active, suspended: counts.suspended },
      connectors: counts.connectors,
      has_traffic: isUsed,
      // Warnings concern the whole installation, so only a user with the right in all namespaces gets them.
      warnings:
        namespaces === 'all'
          ? [...databaseWarnings(db), ...(await ownerTokenWarnings()), ...(await deliveryWarnings())]
          : [],
    }
  }
}

function databaseWarnings({ isPolling }: Pick<Db, 'isPolling'>): readonly string[] {
  return isPolling ? [POLLING] : []
}

const POLLING =
  'DATABASE_URL leads to a connection pooler, so each replica polls for the changes of the others twice a second, and no replica can migrate the database. Set DATABASE_LISTEN_URL to the address of PostgreSQL itself.'

function gatewayState(
  row: GatewayRow,
  origins: Origins,
  { kills, liveOf, nowMs, floorRules }: OverviewDeps,
): GatewayState {
  const live = liveOf(row.id)
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    port: row.port,
    level: atItsFloor(row, floorRules).spec.enforcementLevel,
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.of('Gateway', row),
    is_live: live !== null && nowMs() - Date.parse(live.last_seen_at) <= STALE_MS,
    processes: live?.processes ?? 0,
    applied_version: live?.applied_version ?? null,
    desired_version: live?.desired_version ?? null,
    last_seen_at: live?.last_seen_at ?? null,
    agents: live?.agents ?? 0,
    stopped: kills()
      .filter((entry) => stopsGateway(entry, row.name))
      .map((entry) => entry.scope),
    warnings: [...(live?.warnings ?? [])],
  }
}
