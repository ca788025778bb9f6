import { NO_GREETING } from '../../../core/wire/gateway/greeting.ts'
import type { GatewayProcess } from '../../../core/wire/operator/operator.ts'
import type { ProcessWork } from '../../features/kill-switch/hosted-work.ts'
import type { KillViews } from '../kill-switch/views.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import type { Receiver } from '../sections/sections.ts'
import type { ProcessRegistry } from './registry.ts'

/**
 * Versions of the configuration that this replica has read. `version`: the newest version; null before the first
 * read.
 */
export type KnownVersions = {
  readonly version: number | null
  /** Returns the version in which the sections for a receiver last changed; null for a deleted gateway. */
  readonly of: (gatewayId: string, receiver: Receiver) => { readonly version: number } | null
}

export type ProcessSources = {
  readonly peerRegistry: Pick<PeerRegistry, 'peers'>
  readonly processRegistry: Pick<ProcessRegistry, 'elsewhere'>
  readonly library: KnownVersions
  readonly views: KillViews
}

/** Lists the gateway processes that are connected to any replica. */
export function processesOf({
  peerRegistry,
  processRegistry,
  library,
  views,
}: ProcessSources): GatewayProcess[] {
  const view = (process: Known): GatewayProcess => ({
    gateway: process.name,
    process_id: process.processId,
    version: process.greeting.version,
    agent: process.agent,
    pod_uid: process.podUid,
    covered_version: coveredVersion(process, library),
    has_kill_state: process.killState === views(process).name,
    rejected: process.rejected,
    conditions: [...process.conditions],
    warnings: [...process.warnings],
  })
  const others = processRegistry.elsewhere().map(({ processId, gatewayId, facts, killState }) => ({
    processId,
    gatewayId,
    killState,
    name: facts.name,
    agent: facts.agent ?? null,
    podUid: facts.pod_uid ?? null,
    greeting: facts.greeting ?? NO_GREETING,
    appliedVersion: facts.applied_version,
    rejected: facts.rejected ?? null,
    conditions: facts.conditions ?? [],
    warnings: facts.warnings ?? [],
  }))
  const own = [...peerRegistry.peers.values()].map((peer) => ({
    ...peer,
    podUid: peer.pod?.sidecar.podUid ?? null,
  }))
  return [...own, ...others].map(view)
}

/** Lists the hosted work that connected processes have reported. */
export function hostedWorkOf({
  peerRegistry,
  processRegistry,
}: Pick<ProcessSources, 'peerRegistry' | 'processRegistry'>): ProcessWork[] {
  const own = [...peerRegistry.peers.values()].map(({ name, hostedWork }) => ({
    gateway: name,
    report: hostedWork,
  }))
  const others = processRegistry
    .elsewhere()
    .map(({ facts }) => ({ gateway: facts.name, report: facts.hosted_work ?? null }))
  return [...own, ...others].flatMap(({ gateway, report }) => (report === null ? [] : [{ gateway, report }]))
}

type Known = Pick<
  Peer,
  | 'gatewayId'
  | 'name'
  | 'processId'
  | 'agent'
  | 'greeting'
  | 'appliedVersion'
  | 'killState'
  | 'rejected'
  | 'conditions'
  | 'warnings'
> & { readonly podUid: string | null }

/**
 * Returns the newest version of the configuration to which the sections of the process correspond. A process reports
 * the version in which its sections last changed. If no later version changes the sections of the process, the result
 * is the newest version that this replica has read.
 */
function coveredVersion(
  { gatewayId, agent, greeting: { protocol }, appliedVersion }: Known,
  versions: KnownVersions,
): number | null {
  const newest = versions.of(gatewayId, { agent, protocol })
  if (appliedVersion === null || newest === null || versions.version === null) return appliedVersion
  return appliedVersion >= newest.version ? Math.max(versions.version, appliedVersion) : appliedVersion
}
