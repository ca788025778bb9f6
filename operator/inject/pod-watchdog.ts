import type { Logger } from 'pino'
import type { Sandboxes } from '../cluster/pods/sandboxes.ts'
import { type FailedEviction, type Sweep, sweep, type WatchdogPort } from '../guard/watchdog.ts'
import { type WatchedPod, watchedPod } from '../guard/watched-pods.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { hasCode } from '../kube/kube-failure.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type Reflector } from '../kube/reflector.ts'
import type { InjectionConfig } from './config.ts'
import { createPoolMembers } from './pool-members.ts'

/**
 * Milliseconds between two sweeps, so that the status of a Gateway shows a pod without a sidecar within 30 s.
 */
const SWEEP_MS = 20_000
/** Discards the counts of a reflector: the metrics of the operator do not cover its watch. */
export const UNCOUNTED = { restarted: () => undefined, relisted: () => undefined }

export type PodWatchdog = {
  /** Returns the pods that can bypass their Gateway, by `namespace/name` of the Gateway, from the last sweep. */
  bypassing(): Sweep['bypassing']
  stop(): Promise<void>
}

export type PodWatchdogDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly recorder: EventRecorder
  readonly namespaces: Pick<Namespaces, 'labelsOf' | 'isSynced'>
  readonly ownNamespace: string
  readonly config: Pick<InjectionConfig, 'images' | 'evicts'>
  readonly sandboxes: Omit<Sandboxes, 'stop' | 'templateNamespaces'>
  /** Called with the Gateways (`namespace/name`) for which a sweep found other pods than the sweep before. */
  readonly onChange: (gateways: ReadonlySet<string>) => void
  /** Milliseconds between two sweeps over all pods. */
  readonly sweepMs?: number
}

/** Watches all pods and sweeps them for bypasses. */
export function startPodWatchdog(deps: PodWatchdogDeps): PodWatchdog {
  const { client, log, namespaces } = deps
  const common = { client, log, metrics: UNCOUNTED, onChange: () => undefined }
  // Whole objects are watched, not metadata: the watchdog compares containers, images and users of all pods, with or
  // without labels, with those of the injector. `trim` reduces each object to the judged fields.
  const pods: Reflector<WatchedPod> = createReflector({
    ...common,
    resource: 'all pods',
    selection: { path: pathOf(RESOURCES.Pod) },
    trim: watchedPod,
  })
  const logChanges = createChangeLog(log)
  const failed = createFailureLog(log)
  let bypassing: Sweep['bypassing'] = new Map()
  const found = (now: Sweep['bypassing']) => {
    const textOf = (sweep: Sweep['bypassing'], gateway: string) => JSON.stringify(sweep.get(gateway) ?? [])
    const both = [...new Set([...bypassing.keys(), ...now.keys()])]
    const changed = both.filter((gateway) => textOf(bypassing, gateway) !== textOf(now, gateway))
    bypassing = now
    logChanges(now)
    if (changed.length > 0) deps.onChange(new Set(changed))
  }
  const timer = setInterval(() => {
    if (namespaces.isSynced() && pods.isSynced())
      void sweepOnce(deps, { pods, namespaceLabels: namespaces.labelsOf, found, failed })
  }, deps.sweepMs ?? SWEEP_MS)
  return {
    bypassing: () => bypassing,
    async stop() {
      clearInterval(timer)
      await pods.stop()
    },
  }
}

type SweepDeps = {
  readonly pods: Reflector<WatchedPod>
  readonly namespaceLabels: WatchdogPort['namespaceLabels']
  /** Called with the findings of a sweep, before its evictions have ended. */
  readonly found: (bypassing: Sweep['bypassing']) => void
  /** Called with the failed evictions of a sweep, when all evictions have ended. */
  readonly failed: (evictions: readonly FailedEviction[]) => void
}

/** Returns a function that logs findings when they change, not with every sweep. */
function createChangeLog(log: Logger): SweepDeps['found'] {
  let logged = ''
  return (bypassing) => {
    const now = JSON.stringify([...bypassing])
    if (now !== logged)
      for (const [gateway, names] of bypassing) log.warn({ gateway, pods: names }, 'ungoverned pods')
    logged = now
  }
}

/**
 * Returns a function that logs failed evictions only when they change. The API server can refuse an eviction for as
 * long as the PodDisruptionBudget of the pod does not permit the eviction.
 */
function createFailureLog(log: Logger): SweepDeps['failed'] {
  let logged = '[]'
  return (evictions) => {
    const failures = evictions.map(({ pod, error }) => ({
      pod,
      problem: error instanceof Error ? error.message : String(error),
    }))
    const now = JSON.stringify(failures)
    if (now !== logged && failures.length > 0) log.warn({ failures }, 'ungoverned pods could not be evicted')
    logged = now
  }
}

async function sweepOnce(
  { client, log, recorder, ownNamespace, config, sandboxes }: PodWatchdogDeps,
  { pods, namespaceLabels, found, failed }: SweepDeps,
): Promise<void> {
  const members = createPoolMembers({ client, recorder, sandboxes })
  const kept = new Map(pods.list().map((pod) => [members.expected(pod.watched), pod.metadata]))
  const port: WatchdogPort = {
    pods: () => [...kept.keys()],
    namespaceLabels,
    report(pod, { kind, message }) {
      const metadata = kept.get(pod)
      if (metadata === undefined) return
      const reason = kind === 'outdated' ? 'SidecarOutdated' : 'BypassDetected'
      const type = kind === 'outdated' ? ('Normal' as const) : ('Warning' as const)
      void recorder.record(
        { apiVersion: 'v1', kind: 'Pod', metadata },
        { type, reason, action: 'Watch', note: message },
      )
      if (kind === 'ungoverned') members.report(pod)
    },
    async evict(pod) {
      if (await members.replace(pod)) return
      const { name = '', namespace } = pod.metadata
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
      const path = `${pathOf(RESOURCES.Pod, namespace, name)}/eviction`
      try {
        await client.call({ method: 'POST', path, body })
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error
      }
    },
  }
  try {
    const options = { ownNamespace, proxyImages: [config.images.proxy], evicts: config.evicts }
    const { bypassing, evictions } = sweep(port, options)
    found(bypassing)
    failed(await evictions)
  } catch (error) {
    log.warn({ err: error }, 'pods could not be checked for bypasses')
  }
}
