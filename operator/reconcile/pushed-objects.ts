import type { PushBody, PushReply } from '../../core/wire/operator/operator.ts'
import { sha256Hex } from '../../runtime/sha256.ts'

/** The objects that the control plane received, by key (`Kind/namespace/name`), with its last reply to each. */
export type PushedObjects = {
  /**
   * Returns the reply to exactly this content; null when the content was never pushed. `isDue` is true when the content
   * must be pushed again nevertheless.
   */
  find(key: string, body: PushBody): { readonly reply: PushReply; readonly isDue: boolean } | null
  record(key: string, body: PushBody, reply: PushReply): void
  remove(key: string): void
  /** Discards all objects except those with these keys. */
  retain(keys: ReadonlySet<string>): void
  /**
   * Makes the object due for another push, because an object that it refers to has changed, or because the
   * control plane lost it.
   */
  invalidate(key: string): void
  invalidateAll(): void
  entries(): ReadonlyMap<string, { readonly uid: string; readonly reply: PushReply }>
}

type Entry = {
  /** SHA-256 of the content. The content itself is not kept, because it can contain a credential. */
  readonly hash: string
  readonly isDue: boolean
  readonly uid: string
  readonly reply: PushReply
}

export function createPushedObjects(): PushedObjects {
  const entries = new Map<string, Entry>()
  const invalidate = (key: string) => {
    const entry = entries.get(key)
    if (entry !== undefined) entries.set(key, { ...entry, isDue: true })
  }
  return {
    find(key, body) {
      const entry = entries.get(key)
      return entry?.hash === hashOf(body) ? entry : null
    },
    record(key, body, reply) {
      entries.set(key, { hash: hashOf(body), uid: body.uid, reply, isDue: false })
    },
    remove: (key) => {
      entries.delete(key)
    },
    retain(keys) {
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key)
    },
    invalidate,
    invalidateAll() {
      for (const key of entries.keys()) invalidate(key)
    },
    entries: () => entries,
  }
}

function hashOf(body: PushBody): string {
  return sha256Hex(JSON.stringify(body))
}
