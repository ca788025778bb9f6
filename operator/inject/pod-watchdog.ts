import type { Logger } from 'pino'
import { type Sweep, sweep, type WatchdogPort } from '../guard/watchdog.ts'
import { type WatchedPod, watchedPod } from '../guard/watched-pods.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type Reflector } from '../kube/reflector.ts'
import type { InjectionConfig } from './config.ts'

const SWEEP_MS = 30_000
/** Their restarts and lists show in the log; the four kinds of ours have the metrics. */
const UNCOUNTED = { restarted: () => undefined, relisted: () => undefined }

export type Watch = {
  /** Gateway (`namespace/name`) -> pods that can go past it, as the last look found them. */
  bypassing(): Sweep['bypassing']
  stop(): Promise<void>
}

export type WatchDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly recorder: EventRecorder
  readonly namespaces: Pick<Namespaces, 'labelsOf' | 'isSynced'>
  readonly ownNamespace: string
  readonly config: Pick<InjectionConfig, 'images' | 'evicts'>
  /** Between two looks at every pod. */
  readonly sweepMs?: number
}

/** Copies of what matters of every pod, and the watchdog that looks at them. */
export function openWatch(deps: WatchDeps): Watch {
  const { client, log, namespaces } = deps
  const common = { client, log, metrics: UNCOUNTED, onChange: () => undefined }
  // Whole objects, not metadata: the watchdog finds pods whose containers, images or users are not what the injector wrote,
  // with or without its labels. `trim` keeps what it judges. Identities of pods come from a watch of metadata alone.
  const pods: Reflector<WatchedPod> = createReflector({
    ...common,
    resource: 'all pods',
    selection: { path: pathOf(RESOURCES.Pod) },
    trim: watchedPod,
  })
  const say = sayChanges(log)
  let bypassing: Sweep['bypassing'] = new Map()
  const found = (now: Sweep['bypassing']) => {
    bypassing = now
    say(now)
  }
  const timer = setInterval(() => {
    if (namespaces.isSynced() && pods.isSynced())
      void look(deps, { pods, namespaceLabels: namespaces.labelsOf, found })
  }, deps.sweepMs ?? SWEEP_MS)
  return {
    bypassing: () => bypassing,
    async stop() {
      clearInterval(timer)
      await pods.stop()
    },
  }
}

type Looking = {
  readonly pods: Reflector<WatchedPod>
  readonly namespaceLabels: WatchdogPort['namespaceLabels']
  readonly found: (bypassing: Sweep['bypassing']) => void
}

/** A pod that stays as it is is said once, not twice a minute. */
function sayChanges(log: Logger): Looking['found'] {
  let said = ''
  return (bypassing) => {
    const now = JSON.stringify([...bypassing])
    if (now !== said)
      for (const [gateway, names] of bypassing) log.warn({ gateway, pods: names }, 'pods are not governed')
    said = now
  }
}

async function look(
  { client, log, recorder, ownNamespace, config }: WatchDeps,
  { pods, namespaceLabels, found }: Looking,
): Promise<void> {
  const kept = new Map(pods.list().map((pod) => [pod.watched, pod.metadata]))
  const port: WatchdogPort = {
    pods: () => [...kept.keys()],
    namespaceLabels,
    report(pod, { kind, message }) {
      const metadata = kept.get(pod)
      if (metadata === undefined) return
      const reason = kind === 'outdated' ? 'SidecarOutdated' : 'BypassDetected'
      const type = kind === 'outdated' ? ('Normal' as const) : ('Warning' as const)
      // The recorder never rejects.
      void recorder.record(
        { apiVersion: 'v1', kind: 'Pod', metadata },
        { type, reason, action: 'Watch', note: message },
      )
    },
    async evict({ metadata: { name = '', namespace } }) {
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
      const path = `${pathOf(RESOURCES.Pod, namespace, name)}/eviction`
      await client.call({ method: 'POST', path, body })
    },
  }
  try {
    const options = { ownNamespace, proxyImages: [config.images.proxy], evicts: config.evicts }
    found((await sweep(port, options)).bypassing)
  } catch (error) {
    log.warn({ err: error }, 'pods that are not governed could not be ended')
  }
}
