import { X509Certificate } from 'node:crypto'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { ChannelView } from '../../../core/wire/notifications/notification-channels.ts'
import type { GatewayProcess } from '../../../core/wire/operator/operator.ts'
import type { Db } from '../../db/query.ts'
import { type ActionCounts, countActions } from '../actions/rows.ts'
import { listConnectors } from '../connectors/rows.ts'
import { hasMinted, listMinted } from '../credentials/rows.ts'
import { listInvalidPolicies } from '../policies/rows.ts'
import { listRecordDestinations } from '../record-export/rows.ts'
import { exposition, type MetricsState } from './metrics-exposition.ts'

export type ControlPlaneMetrics = {
  /** Returns the metrics in the exposition format of Prometheus (spec 4.5). */
  scrape(): Promise<string>
}

export type MetricsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Returns the newest version of the configuration, and the gateway processes that are connected to any replica. */
  readonly state: () => { readonly version: number; readonly processes: readonly GatewayProcess[] }
  /** Returns the number of kill switches in force. */
  readonly kills: () => number
  /** Returns the server certificate (PEM); null without TLS. */
  readonly certificate: () => string | null
  /** Number of batches of traffic records that the ingest quota refused, by Gateway. */
  readonly refusedBatches: ReadonlyMap<string, number>
  readonly platformNamespaces: ReadonlySet<string>
  /** Returns the channels of notifications with their states. */
  readonly channels: () => Promise<readonly ChannelView[]>
  /** Returns the number of cached narrowed tokens of this replica, by Connector. */
  readonly narrowedTokens: () => ReadonlyMap<string, number>
}

export function createControlPlaneMetrics(deps: MetricsDeps): ControlPlaneMetrics {
  let counting: Promise<ActionCounts> | undefined
  // Concurrent scrapes share one result, because counting all traffic is expensive for the database.
  const counts = () => {
    counting ??= countActions(deps.db, deps.orgId).finally(() => {
      counting = undefined
    })
    return counting
  }
  return {
    scrape: async () =>
      exposition({
        ...stateOf(deps),
        counts: await counts(),
        invalid: await invalidPolicies(deps),
        channels: await deps.channels(),
        minted: await mintedCredentials(deps),
        destinations: await listRecordDestinations(deps.db),
      }),
  }
}

function stateOf(deps: MetricsDeps) {
  const { state, kills, certificate, refusedBatches } = deps
  return {
    ...state(),
    kills: kills(),
    certificate: validityOf(certificate()),
    refusedBatches,
    narrowedTokens: deps.narrowedTokens(),
  }
}

function validityOf(certPem: string | null): MetricsState['certificate'] {
  if (certPem === null) return null
  const { validFrom, validTo } = new X509Certificate(certPem)
  return {
    ageS: (Date.now() - Date.parse(validFrom)) / 1_000,
    remainingS: (Date.parse(validTo) - Date.now()) / 1_000,
  }
}

/** Maximum number of Connectors that have their own time series. */
const MAX_MINTED = 500

async function mintedCredentials({ db }: MetricsDeps): Promise<MetricsState['minted']> {
  const minted = await listMinted(db)
  const seconds = (from: number, to: number) => (to - from) / 1_000
  const now = Date.now()
  return (await listConnectors(db))
    .filter(hasMinted)
    .slice(0, MAX_MINTED)
    .map(({ id, name }) => {
      const { issuedAt = null, expiresAt = null, error = null } = minted.get(id) ?? {}
      return {
        connector: name,
        ageS: issuedAt === null ? null : seconds(issuedAt.getTime(), now),
        remainingS: expiresAt === null ? null : seconds(now, expiresAt.getTime()),
        isFailing: error !== null,
      }
    })
}

async function invalidPolicies({ db, platformNamespaces }: MetricsDeps): Promise<MetricsState['invalid']> {
  const rows = await listInvalidPolicies(db)
  const isPlatform = ({ name, source }: (typeof rows)[number]) =>
    source === 'kubernetes' && platformNamespaces.has(namespaceOf(name))
  const platform = rows.filter(isPlatform).length
  return { platform, tenant: rows.length - platform }
}
