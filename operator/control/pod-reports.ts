import type { Logger } from 'pino'
import type { KnownPod, PodIdentityReport } from '../../core/wire/operator/operator.ts'
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
 * Reports injected pods to the control plane: agent and Gateway of each, and deletions. Runs on every replica of the
 * operator, leader or not: a repeated report changes nothing.
 */
export type PodReports = AsyncDisposable & {
  /** Called when the metadata of a pod changed in its informer cache. */
  changed(key: string): void
}

export type PodReportsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'putPods' | 'knownPods'>
  readonly pods: Pick<Reflector<InjectedPod>, 'get' | 'list' | 'synced'>
  readonly log: Logger
  /** Interval of the complete comparison, which also runs without changes. */
  readonly compareMs?: number | undefined
}

const COMPARE_MS = 60_000
const RETRY_MS = 2_000
/** Longest pause before a retry. The sessions of a deleted pod must end within 10 s. */
const RETRY_MAX_MS = 3_000
const CONCURRENCY = 8
const BATCH = 500

/** For each `namespace/name`, the pods of this name that the control plane counts as existing. */
type Reported = Map<string, readonly KnownPod[]>

type Reporting = PodReportsDeps & { readonly reported: Reported; readonly signal: AbortSignal }

export function createPodReports(deps: PodReportsDeps): PodReports {
  const { pods, log, compareMs = COMPARE_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const reporting: Reporting = { ...deps, reported: new Map(), signal }
  const outages = createOutageLog({ log, message: 'pods could not be compared with the control plane' })
  let isComparing = false
  const queue = createWorkQueue({
    work: (key) => reportPod(reporting, key),
    log,
    concurrency: CONCURRENCY,
    failureMessage: () => 'pod could not be reported; retrying',
    maxMs: RETRY_MAX_MS,
  })

  async function compareAndWait(): Promise<void> {
    try {
      for (const key of await compare(reporting)) queue.add(key)
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
    while (!signal.aborted) await compareAndWait()
  }

  const running = run()
  return {
    // Changes are ignored before the first comparison, which reports the whole list in batches.
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

async function reportPod(
  { client, controlPlane, pods, reported, signal }: Reporting,
  key: string,
): Promise<void> {
  const before = reported.get(key) ?? []
  const now = knownPod(pods.get(key))
  const others = before.filter(({ podUid }) => podUid !== now?.podUid)
  const deleted = await deletedOf(client, others, signal)
  const isNew = now !== null && others.length === before.length
  const added = isNew ? [now] : []
  const reports = [...deleted.map(asDeleted), ...added.map(asPresent)]
  if (reports.length > 0) await controlPlane.putPods(reports, signal)
  const kept = [...before.filter((pod) => !deleted.includes(pod)), ...added]
  if (kept.length > 0) reported.set(key, kept)
  else reported.delete(key)
}

/**
 * Reports pods that the control plane does not count as existing. Returns the keys of pods that it counts as existing
 * and that the informer cache does not contain.
 */
async function compare({ controlPlane, pods, reported, signal }: Reporting): Promise<readonly string[]> {
  const known = await controlPlane.knownPods(signal)
  const uids = new Set(known.map(({ podUid }) => podUid))
  const present = pods.list().flatMap((pod) => knownPod(pod) ?? [])
  const unknown = present.filter(({ podUid }) => !uids.has(podUid))
  for (let at = 0; at < unknown.length; at += BATCH)
    await controlPlane.putPods(unknown.slice(at, at + BATCH).map(asPresent), signal)
  const missing: string[] = []
  for (const pod of [...known, ...unknown]) {
    const key = `${pod.namespace}/${pod.name}`
    const others = (reported.get(key) ?? []).filter(({ podUid }) => podUid !== pod.podUid)
    reported.set(key, [...others, pod])
    if (pods.get(key)?.metadata.uid !== pod.podUid) missing.push(key)
  }
  return missing
}

/**
 * Returns the pods that no longer exist. A pod also leaves the watch when its label is removed, so each is read from
 * the API server.
 */
async function deletedOf(
  client: Pick<KubeClient, 'call'>,
  candidates: readonly KnownPod[],
  signal: AbortSignal,
): Promise<readonly KnownPod[]> {
  const deleted: KnownPod[] = []
  for (const pod of candidates) {
    const path = pathOf(RESOURCES.Pod, pod.namespace, pod.name)
    const found = client.call<KubeObject>({ method: 'GET', path, metadata: 'object', signal })
    const uid = await found.then(({ metadata }) => metadata.uid, absent)
    if (uid !== pod.podUid) deleted.push(pod)
  }
  return deleted
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

function asDeleted(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: true }
}

function asPresent(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: false }
}
