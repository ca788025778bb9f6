import type { Logger } from 'pino'
import { createWorkQueue } from '../kube/queue.ts'
import { sleep } from '../kube/sleep.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import type { Replica } from './control-plane-http.ts'
import { isInForce, type RelayedKillSwitch } from './kill-switches.ts'
import { createOutageLog } from './outage-log.ts'
import { type Replicas, replicaName } from './replicas.ts'

/**
 * Carries stops from the cluster to every replica of the control plane. Runs on every replica of the operator, leader
 * or not: saying the same twice does no harm, and whoever dies in the middle was not the only one.
 */
export type KillRelay = AsyncDisposable & {
  /** What an object says now; an older word about the same object is ignored. */
  offer(stop: RelayedKillSwitch): void
  /** Milliseconds since every replica was last found to hold all of it; Infinity before the first time. */
  behindMs(): number
}

export type KillRelayDeps = {
  readonly client: Pick<ControlPlaneClient, 'kill' | 'state'>
  readonly replicas: Replicas
  readonly log: Logger
  readonly verifyMs?: number
}

/** Every replica is compared with the cluster so often even when nothing happens. */
const VERIFY_MS = 5_000
const RETRY_MAX_MS = 1_000
/** A newer word outlives older ones for so long: after a cluster was restored from a backup revisions begin lower. */
const BELIEVED_MS = 30_000
/** One replica that does not answer must not keep a stop from the others, nor one stop the next. */
const CONCURRENCY = 64
/** Stops of one namespace for one replica, each of which waits up to 2 s for gateways: they delay no other namespace. */
const NAMESPACE_CONCURRENCY = 8

export function createKillRelay(deps: KillRelayDeps): KillRelay {
  const { log, replicas, verifyMs = VERIFY_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const wanted = new Map<string, RelayedKillSwitch>()
  const heard = new Map<string, number>()
  const heardAt = (source: string) => heard.get(source) ?? Number.NEGATIVE_INFINITY
  const links = new Map<string, Link>()
  const outages = createOutageLog({ log, message: 'replica of the control plane not compared' })
  let agreedAt = Number.NEGATIVE_INFINITY
  const work = (key: string) => deliver(deps, { key, links, wanted, signal })
  const groups = { of: groupOf, concurrency: NAMESPACE_CONCURRENCY }
  const queue = createWorkQueue({ work, log, concurrency: CONCURRENCY, groups, maxMs: RETRY_MAX_MS })

  /** What each replica really has: it may be new, or somebody lifted a stop that the cluster demands. */
  async function verifyAll(): Promise<void> {
    const found = new Map((await replicas.find()).map((replica) => [replicaName(replica), replica]))
    for (const name of links.keys()) if (!found.has(name)) links.delete(name)
    const agreed = await Promise.all([...found].map(([name, replica]) => verify(name, replica)))
    if (agreed.every((each) => each)) agreedAt = performance.now()
  }

  async function verify(name: string, replica: Replica): Promise<boolean> {
    const link = links.get(name) ?? { replica, taken: new Map() }
    links.set(name, link)
    try {
      const { kills } = await deps.client.state(replica, signal)
      outages.answered(name)
      const missing = [...wanted.values()].filter((stop) => !isInForce(stop, kills))
      for (const { source } of missing) {
        link.taken.delete(source)
        queue.add(keyFor(name, source))
      }
      return missing.length === 0
    } catch (error) {
      if (!signal.aborted) outages.failed(name, error)
      return false
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await verifyAll()
      await sleep(verifyMs, signal)
    }
  }

  const running = run()
  return {
    offer(stop) {
      const known = wanted.get(stop.source)
      const now = performance.now()
      if (known !== undefined && known.revision > stop.revision && now - heardAt(stop.source) < BELIEVED_MS)
        return
      heard.set(stop.source, now)
      wanted.set(stop.source, stop)
      if (known !== undefined && textOf(known) === textOf(stop)) return
      for (const name of links.keys()) queue.add(keyFor(name, stop.source))
    },
    behindMs: () => performance.now() - agreedAt,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await queue.stop()
      await running
    },
  }
}

/** A replica, and what it took of each source. */
type Link = { readonly replica: Replica; readonly taken: Map<string, string> }

type Delivery = {
  readonly key: string
  readonly links: ReadonlyMap<string, Link>
  readonly wanted: ReadonlyMap<string, RelayedKillSwitch>
  readonly signal: AbortSignal
}

async function deliver(
  { client, log }: KillRelayDeps,
  { key, links, wanted, signal }: Delivery,
): Promise<void> {
  const [name = '', source = ''] = key.split('\n')
  const link = links.get(name)
  const stop = wanted.get(source)
  if (link === undefined || stop === undefined || link.taken.get(source) === textOf(stop)) return
  const { applied, acknowledged, warning } = await client.kill(link.replica, stop, signal)
  link.taken.set(source, textOf(stop))
  log.warn({ replica: name, source, scopes: stop.scopes, applied, ...acknowledged, warning }, 'stop relayed')
}

function keyFor(replica: string, source: string): string {
  return `${replica}\n${source}`
}

/** `manifest:NAMESPACE/NAME` and `configmap:NAMESPACE` for one replica; the ConfigMap of the installation is a group. */
function groupOf(key: string): string {
  const [replica = '', source = ''] = key.split('\n')
  return `${replica}\n${source.split(/[:/]/)[1] ?? ''}`
}

/** Without the revision: an object that changed elsewhere says the same about stops. */
function textOf({ source, scopes, reason }: RelayedKillSwitch): string {
  return JSON.stringify([source, [...scopes].sort(), reason])
}
