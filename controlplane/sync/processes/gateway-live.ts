import { NO_GREETING } from '../../../core/wire/gateway/greeting.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { versionWarnings } from '../../../core/wire/gateway/version-relation.ts'
import type { GatewayLive } from '../../../core/wire/gateways.ts'
import { VERSION } from '../../version.ts'
import { stopsGateway } from '../kill-switch/state.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import type { ProcessRegistry } from './registry.ts'
import type { ElsewhereProcess } from './stored-processes.ts'

/** State of one gateway process that is connected to any replica. */
export type Sighting = Pick<
  Peer,
  | 'name'
  | 'greeting'
  | 'appliedVersion'
  | 'sentVersion'
  | 'lastSeenMs'
  | 'agents'
  | 'uptimeSeconds'
  | 'warnings'
>

export function liveOf(peers: readonly Sighting[], kills: readonly KillEntry[]): GatewayLive | null {
  const [first] = peers
  if (first === undefined) return null
  const applied = peers.map((peer) => peer.appliedVersion)
  const versions = peers.map(({ greeting }) => greeting.version)
  return {
    processes: peers.length,
    applied_version: applied.reduce((a, b) => (a === null || b === null ? null : Math.min(a, b))) ?? null,
    desired_version: peers.reduce<number | null>((max, { sentVersion }) => later(max, sentVersion), null),
    last_seen_at: new Date(Math.max(...peers.map((peer) => peer.lastSeenMs))).toISOString(),
    agents: peers.reduce((sum, peer) => sum + peer.agents, 0),
    kill_switch: kills.some((entry) => stopsGateway(entry, first.name)),
    uptime_seconds: Math.max(...peers.map((peer) => peer.uptimeSeconds)),
    versions: [...new Set(versions)].filter((version) => version !== null).sort(),
    warnings: [...new Set(peers.flatMap((peer) => peer.warnings)), ...versionWarnings(versions, VERSION)],
  }
}

function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

/** Lists all connected processes of a gateway, at any replica. */
export function sightingsOf(
  gatewayId: string,
  {
    peerRegistry,
    processRegistry,
  }: { readonly peerRegistry: PeerRegistry; readonly processRegistry: ProcessRegistry },
): readonly Sighting[] {
  return [...peerRegistry.of(gatewayId), ...processRegistry.elsewhereOf(gatewayId).map(sightingOf)]
}

function sightingOf({ facts, lastSeenMs }: ElsewhereProcess): Sighting {
  const { name, applied_version, sent_version, agents, uptime_seconds, warnings = [] } = facts
  return {
    name,
    agents,
    lastSeenMs,
    warnings,
    greeting: facts.greeting ?? NO_GREETING,
    appliedVersion: applied_version,
    sentVersion: sent_version,
    uptimeSeconds: Math.floor(uptime_seconds),
  }
}
