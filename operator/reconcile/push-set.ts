import type {
  ChangeSetBody,
  ManifestProblem,
  PushBody,
  PushReply,
} from '../../core/wire/operator/operator.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import type { PushedObjects } from './pushed-objects.ts'

/** All objects of one source, with the problems of its files. */
export type CompleteSet = {
  /** Push bodies by key (`Kind/namespace/name`), in the order of the change set. */
  readonly bodies: ReadonlyMap<string, PushBody>
  readonly problems: readonly ManifestProblem[]
}

export type SetResult = {
  /** Replies to the pushed objects by key. An object that was accepted before and has not changed is not pushed. */
  readonly replies: ReadonlyMap<string, PushReply>
  /** Number of objects that the control plane removed, because the source no longer has them. */
  readonly removed: number
}

export type PushSetDeps = {
  readonly client: Pick<ControlPlaneClient, 'change' | 'put'>
  readonly pushed: PushedObjects
  readonly signal: AbortSignal
}

/**
 * Pushes, as one change set, the objects of a complete set that are new or changed, or were refused before. When the
 * reply reports objects that the control plane lost, pushes these objects in a second change set. Rejects when the
 * control plane cannot be reached; the call may be repeated.
 */
export async function pushSet(deps: PushSetDeps, set: CompleteSet): Promise<SetResult> {
  deps.pushed.retain(new Set(set.bodies.keys()))
  const first = await pushDue(deps, set)
  if (first.lost === 0) return first
  // The second push contains the objects that the control plane lost, and those that it refused.
  const second = await pushDue(deps, set)
  return {
    replies: new Map([...first.replies, ...second.replies]),
    removed: first.removed + second.removed,
  }
}

async function pushDue(
  { client, pushed, signal }: PushSetDeps,
  { bodies, problems }: CompleteSet,
): Promise<SetResult & { readonly lost: number }> {
  const due = [...bodies].filter(([key, body]) => pushed.find(key, body)?.isDue !== false)
  const present = [...bodies].map(([key, { uid }]) => ({ ...nameOf(key), uid }))
  const set: ChangeSetBody = {
    source: 'file',
    removed: [],
    present,
    problems: [...problems],
    objects: due.map(([, body]) => body),
  }
  const change = client.change(set, signal)
  const { removed, missing, replies } = await change.catch(async (error: unknown) => {
    await pushKillSwitches(client, set.objects, signal)
    throw error
  })
  const results = new Map<string, PushReply>()
  due.forEach(([key, body], index) => {
    const reply = replies[index]
    if (reply === undefined) return
    results.set(key, reply)
    pushed.record(key, body, reply)
    // A refused object is pushed with every set: another object of the set may have resolved its problem.
    if (!reply.accepted) pushed.invalidate(key)
  })
  const lost = missing.map(keyOf).filter((key) => !results.has(key))
  for (const key of lost) pushed.invalidate(key)
  return { replies: results, removed, lost: lost.length }
}

/**
 * Pushes, in a request of its own, each Gateway that activates a kill switch. The kill switch then takes effect even if
 * the change set fails.
 */
async function pushKillSwitches(
  client: Pick<ControlPlaneClient, 'put'>,
  bodies: readonly PushBody[],
  signal: AbortSignal,
): Promise<void> {
  for (const body of bodies) {
    const { kind, spec } = body.resource
    if (kind === 'Gateway' && isKillSwitchActive(spec)) await client.put(body, signal).catch(() => undefined)
  }
}

function isKillSwitchActive(spec: unknown): boolean {
  return (spec as { killSwitch?: { active?: unknown } } | undefined)?.killSwitch?.active === true
}

function nameOf(key: string): { kind: string; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/')
  return { kind, namespace, name }
}

function keyOf({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind}/${namespace}/${name}`
}
