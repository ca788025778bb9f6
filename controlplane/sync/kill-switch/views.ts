import { boundedKills } from '../../../core/decision/kill-switch/kill-bound.ts'
import {
  concernsGateway,
  namespaceOf,
  namespaceOfSource,
} from '../../../core/decision/kill-switch/kill-reach.ts'
import { normaliseScope, unionEffective } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { KillAnnouncement, KillEntry, KillStateMessage } from '../../../core/wire/gateway/kill.ts'
import type { Configuration } from '../sections/configuration.ts'
import { type KillState, killStateOf } from './state.ts'

/** Receiver of a kill state: a gateway process (`agent` is null) or the sidecar of one agent. */
export type KillPlace = {
  readonly gatewayId: string
  /** Full name of the gateway, `namespace/name`. */
  readonly name: string
  readonly agent: string | null
}

/**
 * Kill state for one process. The process acknowledges the kill state by its `name`. `state` is undefined before the
 * first read of the stored state.
 */
export type KillView = {
  readonly name: string
  readonly effective: readonly KillEntry[]
  readonly state: KillStateMessage | undefined
}

/** Returns the kill state for a process. Processes with equal content share one object. */
export type KillViews = (place: KillPlace) => KillView

export type KillViewsDeps = {
  readonly kills: Pick<KillState, 'stored' | 'announced' | 'settled'>
  /**
   * Returns the last read configuration; null before the first read. Without a configuration, every process receives
   * every kill switch.
   */
  readonly configuration: () => Pick<Configuration, 'agents'> | null
}

/**
 * Maximum size of the announcements in one message, in bytes of JSON. Gateways receive the announced kill switches
 * beyond this size like stored ones: gateways apply these kill switches but do not return them to other replicas.
 */
const MAX_ANNOUNCED_BYTES = 256 * 1024

/**
 * Returns the views of the current kill state. A kill switch from the ConfigMap of a namespace is sent only to
 * processes that serve agents of the namespace, or whose Gateway is in the namespace. Therefore, a tenant cannot
 * increase the size of the kill state of other tenants.
 */
export function createKillViews({ kills, configuration }: KillViewsDeps): () => KillViews {
  let served: { readonly of: unknown; readonly namespaces: (gatewayId: string) => ReadonlySet<string> } | null
  served = null

  function namespacesOf({ gatewayId, name, agent }: KillPlace): ReadonlySet<string> | null {
    const home = namespaceOf(name)
    if (agent !== null) return new Set([home, namespaceOf(agent)])
    const current = configuration()
    if (current === null) return null
    if (served?.of !== current) served = { of: current, namespaces: servedNamespaces(current) }
    return new Set([home, ...served.namespaces(gatewayId)])
  }

  /** Returns the sources of kill switches that the process receives. */
  function sourcesFor(place: KillPlace, sources: readonly string[]): readonly string[] {
    const namespaces = sources.some((source) => namespaceOfSource(source) !== null)
      ? namespacesOf(place)
      : null
    return sources.filter((source) => {
      const namespace = namespaceOfSource(source)
      const isServed = namespace === null || namespaces === null || namespaces.has(namespace)
      return isServed && concernsGateway(source, place.name)
    })
  }

  return () => {
    const views = new Map<string, KillView>()
    const sources = sourcesOf(kills)
    return (place) => {
      const received = sourcesFor(place, sources)
      const key = JSON.stringify(received)
      const known = views.get(key)
      if (known !== undefined) return known
      const own = new Set(received)
      const view = viewFor(kills, ({ source }) => own.has(source))
      views.set(key, view)
      return view
    }
  }
}

function sourcesOf(kills: KillViewsDeps['kills']): readonly string[] {
  const stored = kills.stored()?.entries ?? []
  const announced = kills.announced().map(({ entry }) => entry)
  return [...new Set([...stored, ...announced].map(({ source }) => source))]
}

function viewFor(kills: KillViewsDeps['kills'], isFor: (entry: KillEntry) => boolean): KillView {
  const stored = kills.stored()
  const announced = kills.announced().filter(({ entry }) => isFor(entry))
  const latched = stored?.entries.filter(isFor) ?? []
  const union = unionEffective([...latched, ...announced.map(({ entry }) => entry)])
  const { entries: effective, isWhole } = boundedKills(union)
  const name = killStateOf(effective)
  if (stored === null) return { name, effective, state: undefined }
  const sent = keptOf(announced)
  const isComplete = isWhole && sent.length === announced.length
  const state = {
    order: stored.order,
    stored: isComplete ? latched : [...effective],
    announced: [...sent],
    settled: [...kills.settled()],
  }
  return { name, effective, state }
}

/**
 * Returns the announcements whose total size is at most `MAX_ANNOUNCED_BYTES`. Gateways keep these announcements and
 * return them to other replicas. The scope `all` has priority, then shorter announcements, so that long reasons of
 * one user do not displace other kill switches.
 */
export function keptOf(announced: readonly KillAnnouncement[]): readonly KillAnnouncement[] {
  const measured = announced.map((each) => ({
    each,
    bytes: Buffer.byteLength(JSON.stringify(each)),
    isNarrow: normaliseScope(each.entry.scope) !== 'all',
  }))
  measured.sort((a, b) => Number(a.isNarrow) - Number(b.isNarrow) || a.bytes - b.bytes)
  let total = 0
  const kept = new Set<KillAnnouncement>()
  for (const { each, bytes } of measured) {
    total += bytes
    if (total > MAX_ANNOUNCED_BYTES) break
    kept.add(each)
  }
  return announced.filter((each) => kept.has(each))
}

/**
 * Returns a function that returns the namespaces of the agents of a gateway. An agent without a gateway counts as an
 * agent of every gateway.
 */
function servedNamespaces({
  agents,
}: Pick<Configuration, 'agents'>): (gatewayId: string) => ReadonlySet<string> {
  const byGateway = Map.groupBy(agents, ({ gatewayId }) => gatewayId)
  const of = (gatewayId: string | null) =>
    (byGateway.get(gatewayId) ?? []).map(({ name }) => namespaceOf(name))
  const known = new Map<string, ReadonlySet<string>>()
  return (gatewayId) => {
    const namespaces = known.get(gatewayId) ?? new Set([...of(gatewayId), ...of(null)])
    known.set(gatewayId, namespaces)
    return namespaces
  }
}
