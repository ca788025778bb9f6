import { ChaperoneError } from '../../core/errors.ts'
import type { PushBody, PushReply } from '../../core/wire/operator/operator.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import { createBatch } from './batch.ts'
import type { PushedObjects } from './pushed-objects.ts'

/**
 * Result of pushing one object. `reply`: last reply of the control plane to exactly this content; null without one.
 * `failure`: why the push failed; null after a success. `isNew`: true for the first successful push of the content.
 */
export type PushResult = {
  readonly reply: PushReply | null
  readonly failure: string | null
  readonly isNew: boolean
}

/**
 * Pushes single objects. Objects that change at nearly the same time share a change set. An unchanged object causes no
 * call.
 */
export type Push = {
  /** Pushes one object. An unreachable control plane and a refused call are a `failure`, not a rejection. */
  put(key: string, body: PushBody): Promise<PushResult>
  /** Removes one object. Rejects while the control plane cannot be reached. */
  remove(key: string): Promise<void>
}

export function createPush(
  client: Pick<ControlPlaneClient, 'change'>,
  pushed: PushedObjects,
  signal: AbortSignal,
): Push {
  const batch = createBatch(client, signal)
  return {
    async put(key, body) {
      const last = pushed.find(key, body)
      if (last?.isDue === false) return { reply: last.reply, failure: null, isNew: false }
      try {
        const reply = await batch.put(body)
        pushed.record(key, body, reply)
        return { reply, failure: null, isNew: last === null }
      } catch (error) {
        if (!(error instanceof ChaperoneError)) throw error
        return { reply: last?.reply ?? null, failure: error.message, isNew: false }
      }
    },
    async remove(key) {
      const [kind = '', namespace = '', name = ''] = key.split('/')
      await batch.remove({ kind, namespace, name })
      pushed.remove(key)
    },
  }
}
