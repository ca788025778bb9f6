import type { PushReply } from '../../core/wire/operator/operator.ts'
import type { PushedObjects } from '../reconcile/pushed-objects.ts'
import { splitQueueKey } from './custom-resources.ts'

type DependentsDeps = {
  readonly pushed: Pick<PushedObjects, 'entries' | 'invalidate'>
  readonly enqueue: (key: string) => void
}

/**
 * Enqueues the objects whose result can depend on a changed Gateway or Connector. For a Gateway: objects that refer to
 * it, share its namespace, or were not accepted. For a Connector: Connectors that may compete with it for a host.
 * Objects without an earlier push are skipped, because their first reconcile is pending.
 */
export function enqueueDependents({ pushed, enqueue }: DependentsDeps, changed: string): void {
  const { kind } = splitQueueKey(changed)
  if (kind !== 'Gateway' && kind !== 'Connector') return
  const gateways = pushed.entries().get(changed)?.reply.gateways ?? []
  for (const [key, { reply }] of pushed.entries()) {
    if (!isDependent({ changed, gateways }, key, reply)) continue
    pushed.invalidate(key)
    enqueue(key)
  }
}

type Change = { readonly changed: string; readonly gateways: readonly string[] }

function isDependent({ changed, gateways }: Change, key: string, reply: PushReply): boolean {
  const cause = splitQueueKey(changed)
  const other = splitQueueKey(key)
  if (key === changed || other.kind === 'Gateway') return false
  if (cause.kind === 'Connector') {
    const sharesGateway =
      cause.namespace !== other.namespace && reply.gateways?.some((name) => gateways.includes(name))
    return other.kind === 'Connector' && (!reply.accepted || reply.problem !== null || sharesGateway === true)
  }
  const isBound = reply.gateways === null || reply.gateways.includes(`${cause.namespace}/${cause.name}`)
  return isBound || !reply.accepted || other.namespace === cause.namespace
}
