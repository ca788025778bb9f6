import { createHash } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import type { PushBody, PushReply } from '../../core/wire/operator.ts'
import type { DesiredClient } from '../control/control-plane-client.ts'
import { createBatch } from './batch.ts'

/**
 * What became of handing an object over. `reply` is of exactly this content; with a `failure` beside it the control
 * plane could not be asked again whether it still holds. `isNew`: the control plane heard this
 * content for the first time from us just now.
 */
export type Handed = {
  readonly reply: PushReply | null
  readonly failure: string | null
  readonly isNew: boolean
}

/** Objects on their way to the control plane; one that it holds already costs no call. */
export type HandOver = {
  /** Never rejects for a control plane that is away or refuses: that is a `failure`. */
  put(key: string, body: PushBody): Promise<Handed>
  /** Rejects while the control plane cannot be told. */
  remove(key: string): Promise<void>
  /** The next `put` is a call again: what the object names has changed. */
  forget(key: string): void
  forgetAll(): void
  /** Keys that the control plane was told of, with the uid of the object and the last word about it. */
  held(): ReadonlyMap<string, { readonly uid: string; readonly reply: PushReply }>
}

type Known = {
  readonly hash: string
  readonly isDue: boolean
  readonly uid: string
  readonly reply: PushReply
}

export function createHandOver(client: Pick<DesiredClient, 'change'>, signal: AbortSignal): HandOver {
  const batch = createBatch(client, signal)
  const known = new Map<string, Known>()
  return {
    async put(key, body) {
      const hash = hashOf(body)
      const before = known.get(key)
      const same = before?.hash === hash ? before.reply : null
      if (same !== null && before?.isDue === false) return { reply: same, failure: null, isNew: false }
      try {
        const reply = await batch.put(body)
        known.set(key, { hash, uid: body.uid, reply, isDue: false })
        return { reply, failure: null, isNew: same === null }
      } catch (error) {
        if (!(error instanceof ChaperoneError)) throw error
        return { reply: same, failure: error.message, isNew: false }
      }
    },
    async remove(key) {
      const [kind = '', namespace = '', name = ''] = key.split('/')
      await batch.remove({ kind, namespace, name })
      known.delete(key)
    },
    forget(key) {
      const before = known.get(key)
      if (before !== undefined) known.set(key, { ...before, isDue: true })
    },
    forgetAll() {
      for (const [key, before] of known) known.set(key, { ...before, isDue: true })
    },
    held: () => known,
  }
}

/** A credential is in it: only its hash is remembered. */
function hashOf(body: PushBody): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex')
}
