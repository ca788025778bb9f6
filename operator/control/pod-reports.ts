import type { Logger } from 'pino'
import type { KnownPod, PodIdentityReport } from '../../core/wire/operator.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'
import { createWorkQueue } from '../kube/queue.ts'
import type { Reflector } from '../kube/reflector.ts'
import { sleep } from '../kube/sleep.ts'
import { untilAborted } from '../kube/until-aborted.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import { createOutageLog } from './outage-log.ts'
import type { InjectedPod } from './pod-metadata.ts'

/**
 * Reports pods with a sidecar to the control plane: agent and Gateway of each, and which are gone. Runs on every
 * replica of the operator, leader or not: a repeated report changes nothing.
 */
export type PodReports = AsyncDisposable & {
  /** The watch saw a change of this pod. */
  changed(key: string): void
}

export type PodReportsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'putPods' | 'knownPods'>
  readonly pods: Pick<Reflector<InjectedPod>, 'get' | 'list' | 'synced'>
  readonly log: Logger
  /** Everything is compared so often, also when nothing changes. */
  readonly compareMs?: number | undefined
}

const COMPARE_MS = 60_000
const RETRY_MS = 2_000
/** A deletion has to end sessions within 10 s. */
const RETRY_MAX_MS = 3_000
const CONCURRENCY = 8
const BATCH = 500

export function createPodReports(deps: PodReportsDeps): PodReports {
  const { client, controlPlane, pods, log, compareMs = COMPARE_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  /** What the control plane counts as existing, by `namespace/name`. */
  const held = new Map<string, readonly KnownPod[]>()
  const outages = createOutageLog({ log, message: 'pods not compared with the control plane' })
  let isComparing = false
  const queue = createWorkQueue({ work, log, concurrency: CONCURRENCY, maxMs: RETRY_MAX_MS })

  async function work(key: string): Promise<void> {
    const before = held.get(key) ?? []
    const now = knownPod(pods.get(key))
    const left = before.filter(({ podUid }) => podUid !== now?.podUid)
    const gone = await goneOf(client, left, signal)
    const isNew = now !== null && left.length === before.length
    const added = isNew ? [now] : []
    const reports = [...gone.map(asGone), ...added.map(asPresent)]
    if (reports.length > 0) await controlPlane.putPods(reports, signal)
    const kept = [...before.filter((pod) => !gone.includes(pod)), ...added]
    if (kept.length > 0) held.set(key, kept)
    else held.delete(key)
  }

  /** Reports what the control plane does not know, and asks about what the watch does not have any more. */
  async function compare(): Promise<void> {
    const known = await controlPlane.knownPods(signal)
    const uids = new Set(known.map(({ podUid }) => podUid))
    const present = pods.list().flatMap((pod) => knownPod(pod) ?? [])
    const unknown = present.filter(({ podUid }) => !uids.has(podUid))
    for (let at = 0; at < unknown.length; at += BATCH)
      await controlPlane.putPods(unknown.slice(at, at + BATCH).map(asPresent), signal)
    for (const pod of [...known, ...unknown]) hold(pod)
  }

  function hold(pod: KnownPod): void {
    const key = `${pod.namespace}/${pod.name}`
    const others = (held.get(key) ?? []).filter(({ podUid }) => podUid !== pod.podUid)
    held.set(key, [...others, pod])
    if (pods.get(key)?.metadata.uid !== pod.podUid) queue.add(key)
  }

  async function compareOrWait(): Promise<void> {
    try {
      await compare()
      outages.answered('control plane')
      await sleep(compareMs, signal)
    } catch (error) {
      if (!signal.aborted) outages.failed('control plane', error)
      await sleep(RETRY_MS, signal)
    }
  }

  async function run(): Promise<void> {
    if (!(await untilAborted(pods.synced, signal))) return
    isComparing = true
    while (!signal.aborted) await compareOrWait()
  }

  const running = run()
  return {
    // Before the first comparison the whole list is news; it is reported in batches.
    changed(key) {
      if (isComparing) queue.add(key)
    },
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await running
      await queue.stop()
    },
  }
}

/** A pod leaves the watch also when its label is removed; only the API server's answer proves the deletion. */
async function goneOf(
  client: Pick<KubeClient, 'call'>,
  left: readonly KnownPod[],
  signal: AbortSignal,
): Promise<readonly KnownPod[]> {
  const gone: KnownPod[] = []
  for (const pod of left) {
    const path = pathOf(RESOURCES.Pod, pod.namespace, pod.name)
    const found = client.call<KubeObject>({ method: 'GET', path, metadata: 'object', signal })
    const uid = await found.then(({ metadata }) => metadata.uid, absent)
    if (uid !== pod.podUid) gone.push(pod)
  }
  return gone
}

function absent(error: unknown): null {
  if (hasCode(error, 'not_found')) return null
  throw error
}

function knownPod(pod: InjectedPod | undefined): KnownPod | null {
  if (pod === undefined || pod.injection === null) return null
  const { uid: podUid, namespace = '', name } = pod.metadata
  return { podUid, namespace, name, ...pod.injection }
}

function asGone(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: true }
}

function asPresent(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: false }
}
