import { sleep } from '../../runtime/sleep.ts'
import type { Replica } from './control-plane-http.ts'
import { type Replicas, replicaName } from './replicas.ts'

export type ReplicaFollowersDeps = {
  readonly replicas: Replicas
  readonly signal: AbortSignal
  /**
   * Follows one replica, that is, reads its state by long polls, until the signal is aborted. The signal is
   * also aborted when the replica no longer exists.
   */
  readonly follow: (replica: Replica, ended: AbortSignal) => Promise<void>
  /**
   * Called after each search for the replicas, when new replicas are followed and the followers of removed replicas
   * have been ended.
   */
  readonly onResolved?: () => void
}

/** Milliseconds between two DNS resolutions of the replicas. */
const RESOLVE_MS = 5_000

/** Follows every replica of the control plane until the signal is aborted. */
export async function followReplicas(deps: ReplicaFollowersDeps): Promise<void> {
  const { replicas, signal, follow, onResolved } = deps
  const followed = new Map<string, Followed>()
  while (!signal.aborted) {
    const found = new Map((await replicas.find()).map((replica) => [replicaName(replica), replica]))
    endOthers(followed, found)
    for (const [name, replica] of found) {
      if (followed.has(name)) continue
      const ended = new AbortController()
      followed.set(name, { ended, done: follow(replica, AbortSignal.any([ended.signal, signal])) })
    }
    onResolved?.()
    await sleep(RESOLVE_MS, signal)
  }
  await Promise.all([...followed.values()].map(({ done }) => done))
}

type Followed = { readonly ended: AbortController; readonly done: Promise<void> }

/** Ends the followers of replicas that no longer exist. */
function endOthers(followed: Map<string, Followed>, found: ReadonlyMap<string, Replica>): void {
  for (const [name, { ended }] of followed) {
    if (found.has(name)) continue
    ended.abort()
    followed.delete(name)
  }
}
