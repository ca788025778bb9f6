import { Counter, Gauge, Registry } from 'prom-client'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { countRelations } from '../../../core/wire/gateway/version-relation.ts'
import type { Db } from '../../db/query.ts'
import { VERSION } from '../../version.ts'
import { type ActionCounts, countActions } from '../actions/rows.ts'
import { listInvalidPolicies } from '../policies/rows.ts'

export type ControlPlaneMetrics = {
  /** Returns the metrics in the exposition format of Prometheus (spec 4.5). */
  scrape(): Promise<string>
}

export type MetricsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Returns the number of gateway processes that are connected to any replica. */
  readonly processes: () => number
  /** Returns the program versions of the connected gateway processes; null for a process that sends no version. */
  readonly versions: () => ReadonlyArray<string | null>
  /** Number of batches of traffic records that the ingest quota refused, by Gateway. */
  readonly refusedBatches: ReadonlyMap<string, number>
  readonly platformNamespaces: ReadonlySet<string>
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
  return { scrape: async () => exposition(await counts(), await invalidPolicies(deps), deps) }
}

type InvalidPolicies = Readonly<Record<'platform' | 'tenant', number>>

async function invalidPolicies({ db, platformNamespaces }: MetricsDeps): Promise<InvalidPolicies> {
  const rows = await listInvalidPolicies(db)
  const isPlatform = ({ name, source }: (typeof rows)[number]) =>
    source === 'kubernetes' && platformNamespaces.has(namespaceOf(name))
  const platform = rows.filter(isPlatform).length
  return { platform, tenant: rows.length - platform }
}

/**
 * Builds the metrics of one scrape. Each scrape has its own registry, because all values are read at the time of the
 * scrape.
 */
function exposition(
  { total, lastHour, decisions24h }: ActionCounts,
  invalid: InvalidPolicies,
  { processes, versions, refusedBatches }: MetricsDeps,
): Promise<string> {
  const registry = new Registry()
  const registers = [registry]
  new Counter({
    name: 'svc_actions_total',
    help: 'Actions submitted to v1 or sent through gateways',
    registers,
  }).inc(total)
  new Gauge({
    name: 'svc_processes_active',
    help: 'Gateway processes connected to any replica',
    registers,
  }).set(processes())
  const byVersion = new Gauge({
    name: 'svc_gateway_processes',
    help: 'Connected gateway processes by the relation of their version to that of the control plane (same, older, unsupported, newer, unknown)',
    labelNames: ['version'],
    registers,
  })
  for (const [version, count] of Object.entries(countRelations(versions(), VERSION)))
    byVersion.set({ version }, count)
  new Gauge({ name: 'svc_actions_last_hour', help: 'Actions of the last hour', registers }).set(lastHour)
  const decisions = new Gauge({
    name: 'svc_decisions_24h',
    help: 'Decisions of the last 24 hours by outcome',
    labelNames: ['outcome'],
    registers,
  })
  const refused = new Counter({
    name: 'svc_record_batches_refused_total',
    help: 'Batches of records over the ingest quota, by Gateway; the gateway sends them again',
    labelNames: ['gateway'],
    registers,
  })
  const policies = new Gauge({
    name: 'svc_policies_invalid',
    help: 'Policies of manifests that were never in force and deny their scope, by tier (platform, tenant)',
    labelNames: ['tier'],
    registers,
  })
  for (const [tier, count] of Object.entries(invalid)) policies.set({ tier }, count)
  for (const [gateway, count] of refusedBatches) refused.inc({ gateway }, count)
  for (const [outcome, count] of Object.entries(decisions24h)) decisions.set({ outcome }, count)
  return registry.metrics()
}
