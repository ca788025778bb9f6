import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import type { SandboxLookup } from '../../core/inject/sandbox.ts'
import type { KnownPod, PodIdentityReport } from '../../core/wire/operator/pods.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'
import { createWorkQueue } from '../kube/queue.ts'
import type { Reflector } from '../kube/reflector.ts'
import { untilAborted } from '../kube/until-aborted.ts'
import { createBatchQueue } from './batch-queue.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import { createOutageLog } from './outage-log.ts'
import type { InjectedPod } from './pod-metadata.ts'
import { createReportedPods, isUnreported, keyOfPod, type ReportedPods } from './reported-pods.ts'

/**
 * Reports injected pods to the control plane: agent and Gateway of each, the claim that adopts its Sandbox, and
 * deletions. Runs on every replica of the operator, leader or not: a repeated report changes nothing.
 */
export type PodReports = AsyncDisposable & {
  /** Called when the metadata of a pod changed in its informer cache. */
  changed(key: string): void
  /** Called when a Sandbox (`namespace/name`) changed in its informer cache. */
  sandboxChanged(key: string): void
}

export type PodReportsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'putPods' | 'knownPods'>
  readonly pods: Pick<Reflector<InjectedPod>, 'get' | 'list' | 'synced'>
  readonly sandboxOf: SandboxLookup['sandboxOf']
  readonly log: Logger
  /** Milliseconds between two comparisons of all pods. The comparison also runs when no pod has changed. */
  readonly compareMs?: number | undefined
}

const COMPARE_MS = 60_000
const RETRY_MS = 2_000
/** Longest pause in milliseconds before a retry. The sessions of a deleted pod must end within 10 s. */
const RETRY_MAX_MS = 3_000
const CONCURRENCY = 8
const BATCH = 500

type Reporting = PodReportsDeps & {
  readonly reported: ReportedPods
  /** Keys of the Sandboxes that own pods, by key of the pod. */
  readonly sandboxes: Map<string, string>
  readonly signal: AbortSignal
}

export function createPodReports(deps: PodReportsDeps): PodReports {
  const { pods, log, compareMs = COMPARE_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const sandboxes = new Map<string, string>()
  const reporting: Reporting = { ...deps, reported: createReportedPods(), sandboxes, signal }
  const outages = createOutageLog({
    log,
    message:
      'pods could not be compared with the control plane, whose list of pods may be out of date; retrying',
  })
  let isComparing = false
  const queue = createWorkQueue({
    work: (key) => reportPod(reporting, key),
    log,
    concurrency: CONCURRENCY,
    failureMessage: () => 'pod could not be reported; retrying',
    maxMs: RETRY_MAX_MS,
  })
  const changes = createBatchQueue({
    work: (keys) => reportChanges(reporting, keys),
    onSingle: queue.add,
    log,
    batch: BATCH,
    failureMessage: 'pods could not be reported; retrying',
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
    // Changes are sent in batches, so that reads from the API server and single reports of other pods do not delay the
    // claim of a pod. Changes before the first comparison are ignored, because that comparison sends the whole list.
    changed(key) {
      if (isComparing) changes.add(key)
    },
    sandboxChanged(key) {
      for (const [pod, sandbox] of sandboxes) if (sandbox === key) changes.add(pod)
    },
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await running
      await changes.stop()
      await queue.stop()
    },
  }
}

/**
 * Reports in one call which of the pods exist. Returns the keys that must be processed singly: keys under which another
 * pod of the same name was reported before, and all keys when the control plane refuses the call.
 */
async function reportChanges(reporting: Reporting, keys: readonly string[]): Promise<readonly string[]> {
  const { pods, reported, sandboxes } = reporting
  const single: string[] = []
  const added: KnownPod[] = []
  for (const key of keys) {
    sandboxes.delete(key)
    const now = knownPod(reporting, pods.get(key))
    const before = reported.named(key)
    if (before.some(({ podUid }) => podUid !== now?.podUid)) single.push(key)
    if (now !== null && isUnreported(now, before)) added.push(now)
  }
  return [...single, ...(await putPresent(reporting, added))]
}

/**
 * Reports pods in one call. Returns no keys after a success. The control plane refuses the whole call if it refuses one
 * of the pods; the function then returns the keys of all pods.
 */
async function putPresent(
  { controlPlane, reported, signal }: Reporting,
  pods: readonly KnownPod[],
): Promise<readonly string[]> {
  if (pods.length === 0) return []
  try {
    await controlPlane.putPods(pods.map(asPresent), signal)
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'validation') return pods.map(keyOfPod)
    throw error
  }
  for (const pod of pods) reported.add(pod)
  return []
}

/** Reports one pod, and the deletion of earlier pods of the same name. */
async function reportPod(reporting: Reporting, key: string): Promise<void> {
  const { client, controlPlane, pods, reported, sandboxes, signal } = reporting
  sandboxes.delete(key)
  const before = reported.named(key)
  const now = knownPod(reporting, pods.get(key))
  const others = before.filter(({ podUid }) => podUid !== now?.podUid)
  const deleted = await deletedOf(client, others, signal)
  const added = now !== null && isUnreported(now, before) ? [now] : []
  const reports = [...deleted.map(asDeleted), ...added.map(asPresent)]
  if (reports.length > 0) await controlPlane.putPods(reports, signal)
  for (const pod of added) reported.add(pod)
  for (const pod of deleted) reported.remove(pod)
}

/**
 * Compares the informer cache with the pods that the control plane lists, and sends the pods that are missing there.
 * Returns the keys of pods that only the control plane lists, and of pods whose batch the control plane refused.
 */
async function compare(reporting: Reporting): Promise<readonly string[]> {
  const { controlPlane, pods, reported, signal } = reporting
  const known = await controlPlane.knownPods(signal)
  const byUid = new Map(known.map((pod) => [pod.podUid, [pod]]))
  for (const pod of known) reported.add(pod)
  const present = pods.list().flatMap((pod) => knownPod(reporting, pod) ?? [])
  const unknown = present.filter((pod) => isUnreported(pod, byUid.get(pod.podUid) ?? []))
  const refused: string[] = []
  for (let at = 0; at < unknown.length; at += BATCH)
    refused.push(...(await putPresent(reporting, unknown.slice(at, at + BATCH))))
  // A pod may have been deleted during the call that reported it.
  const missing = [...known, ...unknown].filter((pod) => pods.get(keyOfPod(pod))?.metadata.uid !== pod.podUid)
  return [...missing.map(keyOfPod), ...refused]
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

function knownPod({ sandboxOf, sandboxes }: Reporting, pod: InjectedPod | undefined): KnownPod | null {
  if (pod === undefined || pod.injection === null) return null
  const { uid: podUid, namespace = '', name } = pod.metadata
  const known = { podUid, namespace, name, ...pod.injection }
  const { sandbox } = pod
  if (sandbox === null) return known
  sandboxes.set(`${namespace}/${name}`, `${namespace}/${sandbox.name}`)
  const found = sandboxOf(namespace, sandbox.name)
  const claim = found?.uid === sandbox.uid ? found.claim : null
  return { ...known, sandbox, ...(claim === null ? {} : { claim }) }
}

function asDeleted(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: true }
}

function asPresent(pod: KnownPod): PodIdentityReport {
  return { ...pod, deleted: false }
}
