import type { GatewayProcess } from '../../core/wire/operator/operator.ts'
import type { ProcessWork } from '../features/kill-switch/hosted-work.ts'
import type { KillViews } from './kill-switch/views.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import type { ProcessRegistry } from './process-registry.ts'

/** The configuration that this replica has read. */
export type KnownVersions = {
  readonly version: number | null
  /** With the version at which what this gateway (for this agent) is sent changed last; null for a gateway that is gone. */
  readonly of: (gatewayId: string, agent: string | null) => { readonly version: number } | null
}

export type ProcessSources = {
  readonly peerRegistry: Pick<PeerRegistry, 'peers'>
  readonly processRegistry: Pick<ProcessRegistry, 'elsewhere'>
  readonly library: KnownVersions
  readonly views: KillViews
}

/** Every connected gateway process, whichever replica it is connected to. */
export function processesOf({
  peerRegistry,
  processRegistry,
  library,
  views,
}: ProcessSources): GatewayProcess[] {
  const view = (process: Known): GatewayProcess => ({
    gateway: process.name,
    process_id: process.processId,
    covered_version: coveredVersion(process, library),
    has_kill_state: process.killState === views(process).name,
    rejected: process.rejected,
    conditions: [...process.conditions],
    warnings: [...process.warnings],
  })
  const others = processRegistry.elsewhere().map(({ processId, gatewayId, facts, killState }) => ({
    ...{ processId, gatewayId, killState },
    name: facts.name,
    agent: facts.agent ?? null,
    appliedVersion: facts.applied_version,
    rejected: facts.rejected ?? null,
    conditions: facts.conditions ?? [],
    warnings: facts.warnings ?? [],
  }))
  return [...peerRegistry.peers.values(), ...others].map(view)
}

/** Of the processes that have reported it. */
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
  | 'appliedVersion'
  | 'killState'
  | 'rejected'
  | 'conditions'
  | 'warnings'
>

/**
 * A gateway keeps the version at which its own content changed last. Once it has applied that one, everything up to the
 * newest version that was read is in force there, whether it concerned this gateway or not.
 */
function coveredVersion({ gatewayId, agent, appliedVersion }: Known, versions: KnownVersions): number | null {
  const newest = versions.of(gatewayId, agent)
  if (appliedVersion === null || newest === null || versions.version === null) return appliedVersion
  return appliedVersion >= newest.version ? Math.max(versions.version, appliedVersion) : appliedVersion
}
