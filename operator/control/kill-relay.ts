import type { Logger } from 'pino'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import { sleep } from '../../runtime/sleep.ts'
import { createWorkQueue } from '../kube/queue.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import type { Replica } from './control-plane-http.ts'
import { isInForce, type RelayedKillSwitch } from './kill-switches.ts'
import { createOutageLog } from './outage-log.ts'
import { followReplicas } from './replica-followers.ts'
import { type Replicas, replicaName } from './replicas.ts'

/**
 * Relays kill switches from the cluster to every replica of the control plane. Runs on every replica of the operator,
 * leader or not: a repeated relay changes nothing, and the crash of one replica delays no kill switch.
 */
export type KillRelay = AsyncDisposable & {
  /** Relays the kill switch of one object. An older revision of the same object is ignored. */
  offer(killSwitch: RelayedKillSwitch): void
  /**
   * Returns the milliseconds since every replica was last verified to hold all kill switches; Infinity before the first
   * time.
   */
  behindMs(): number
}

export type KillRelayDeps = {
  readonly client: Pick<ControlPlaneClient, 'kill' | 'kills'>
  readonly replicas: Replicas
  readonly log: Logger
  readonly timing?: KillRelayTiming
}

/** Intervals in milliseconds. */
export type KillRelayTiming = {
  /**
   * Minimum number of milliseconds between two replies of a replica that holds all kill switches. The
   * operator reads the state of such a replica by long poll.
   */
  readonly pauseMs: number
  /**
   * Milliseconds between two reads of the state of a replica that lacks a kill switch or does not support long polls.
   */
  readonly retryMs: number
}

const TIMING: KillRelayTiming = { pauseMs: 1_000, retryMs: 5_000 }
const RETRY_MAX_MS = 1_000
/**
 * Time in milliseconds for which older revisions of an object are ignored after a newer revision has arrived. The time
 * is limited, because revisions start lower after a cluster is restored from a backup.
 */
const REVISION_MS = 30_000
/**
 * Maximum concurrent calls. A replica that does not answer must delay neither other replicas nor the next kill switch.
 */
const CONCURRENCY = 64
/**
 * Maximum concurrent calls per namespace and replica. A call waits up to 2 s for gateways; calls for one namespace must
 * not delay those for another.
 */
const NAMESPACE_CONCURRENCY = 8

export function createKillRelay(deps: KillRelayDeps): KillRelay {
  const { log, replicas } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const links = new Map<string, Link>()
  const wanted = createWanted()
  const queue = createWorkQueue({
    work: (key) => deliver(deps, { key, links, wanted, signal }),
    log,
    concurrency: CONCURRENCY,
    groups: { of: groupOf, concurrency: NAMESPACE_CONCURRENCY },
    failureMessage: () => 'kill switch could not be sent to a control plane replica; retrying',
    maxMs: RETRY_MAX_MS,
  })
  let verifiedAt = Number.NEGATIVE_INFINITY
  const follow = createFollower({
    ...deps,
    links,
    wanted,
    enqueue: queue.add,
    onVerified() {
      if ([...links.values()].every(({ isSame }) => isSame)) verifiedAt = performance.now()
    },
  })
  const running = followReplicas({ replicas, signal, follow })
  return {
    offer(killSwitch) {
      if (!wanted.put(killSwitch)) return
      for (const [name, link] of links) {
        link.isSame = false
        queue.add(keyFor(name, killSwitch.source))
      }
    },
    behindMs: () => performance.now() - verifiedAt,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await queue.stop()
      await running
    },
  }
}

type Wanted = {
  get(source: string): RelayedKillSwitch | undefined
  list(): readonly RelayedKillSwitch[]
  /**
   * Stores a kill switch by its source. Returns true when the kill switch differs from the stored one of this source.
   */
  put(killSwitch: RelayedKillSwitch): boolean
}

/** Creates the store of the cluster's kill switches by source. */
function createWanted(): Wanted {
  const bySource = new Map<string, { readonly killSwitch: RelayedKillSwitch; readonly at: number }>()
  return {
    get: (source) => bySource.get(source)?.killSwitch,
    list: () => [...bySource.values()].map(({ killSwitch }) => killSwitch),
    put(killSwitch) {
      const known = bySource.get(killSwitch.source)
      const now = performance.now()
      const isOlder = known !== undefined && known.killSwitch.revision > killSwitch.revision
      if (isOlder && now - known.at < REVISION_MS) return false
      bySource.set(killSwitch.source, { killSwitch, at: now })
      return known === undefined || textOf(known.killSwitch) !== textOf(killSwitch)
    },
  }
}

/**
 * A replica of the control plane. `confirmed` contains, by source, the text of the kill switch that the replica
 * confirmed. `isSame` is true while the replica holds all kill switches of the cluster.
 */
type Link = { readonly replica: Replica; readonly confirmed: Map<string, string>; isSame: boolean }

type FollowerDeps = KillRelayDeps & {
  readonly links: Map<string, Link>
  readonly wanted: Wanted
  readonly enqueue: (key: string) => void
  /** Called after each comparison that found all kill switches of the cluster on a replica. */
  readonly onVerified: () => void
}

/**
 * Returns a function that compares one replica with the cluster whenever the kill switches of the replica change, and
 * enqueues the differences. Differences arise when a replica is new, or when a user lifted a kill switch in the control
 * plane that the cluster still has.
 */
function createFollower(deps: FollowerDeps) {
  const { client, links, wanted, enqueue, log, onVerified, timing = TIMING } = deps
  const outages = createOutageLog({
    log,
    message:
      'kill switches of a control plane replica could not be read, so it is not known whether it has all kill switches of the cluster; retrying',
  })

  function verify(name: string, link: Link, kills: readonly KillEntry[]): void {
    const missing = wanted.list().filter((killSwitch) => !isInForce(killSwitch, kills))
    for (const { source } of missing) {
      link.confirmed.delete(source)
      enqueue(keyFor(name, source))
    }
    link.isSame = missing.length === 0
    if (link.isSame) onVerified()
  }

  /**
   * Compares the kill switches of the replica with those of the cluster once. Returns the revision of the replica's
   * state for a long poll; empty if the kill switches differ or the state cannot be read.
   */
  async function compare(name: string, link: Link, ended: AbortSignal, known: string): Promise<string> {
    try {
      const { kills, revision } = await client.kills(link.replica, ended, known)
      outages.answered(name)
      verify(name, link, kills)
      return link.isSame ? revision : ''
    } catch (error) {
      link.isSame = false
      if (!ended.aborted) outages.failed(name, error)
      return ''
    }
  }

  return async (replica: Replica, ended: AbortSignal): Promise<void> => {
    const name = replicaName(replica)
    const link: Link = { replica, confirmed: new Map(), isSame: false }
    links.set(name, link)
    for (let known = ''; !ended.aborted; ) {
      known = await compare(name, link, ended, known)
      await sleep(known === '' ? timing.retryMs : timing.pauseMs, ended)
    }
    links.delete(name)
  }
}

type Delivery = {
  readonly key: string
  readonly links: ReadonlyMap<string, Link>
  readonly wanted: Wanted
  readonly signal: AbortSignal
}

async function deliver(
  { client, log }: KillRelayDeps,
  { key, links, wanted, signal }: Delivery,
): Promise<void> {
  const [name = '', source = ''] = key.split('\n')
  const link = links.get(name)
  const killSwitch = wanted.get(source)
  if (link === undefined || killSwitch === undefined) return
  if (link.confirmed.get(source) === textOf(killSwitch)) return
  const { applied, effective, acknowledged, warning } = await client.kill(link.replica, killSwitch, signal)
  link.confirmed.set(source, textOf(killSwitch))
  link.isSame = wanted.list().every((each) => isInForce(each, effective))
  const { scopes } = killSwitch
  log.warn({ replica: name, source, scopes, applied, ...acknowledged, warning }, 'kill switch relayed')
}

function keyFor(replica: string, source: string): string {
  return `${replica}\n${source}`
}

/**
 * Returns the concurrency group of a queue key: the replica and the namespace of the source. Sources are
 * `manifest:NAMESPACE/NAME`, `configmap:NAMESPACE` and `configmap`.
 */
function groupOf(key: string): string {
  const [replica = '', source = ''] = key.split('\n')
  return `${replica}\n${source.split(/[:/]/)[1] ?? ''}`
}

/**
 * Returns a text that is equal for equal kill switches. The text omits the revision, which also rises with changes of
 * other fields.
 */
function textOf({ source, scopes, reason }: RelayedKillSwitch): string {
  return JSON.stringify([source, [...scopes].sort(), reason])
}
