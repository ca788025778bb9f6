import { randomBytes } from 'node:crypto'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { masterKeysText, withNewKey, withoutFormerKeys } from '../../crypto/master-keys.ts'
import type { KeyStatus } from '../../features/master-key/service.ts'
import { namedKeys } from '../backup/master-key.ts'

/** Store of the master keys of an installation: a file, or a Secret. */
export type KeyStore = {
  /** Name of the store in messages. */
  readonly name: string
  read(): Promise<string>
  /** Replaces the text. Throws `conflict` when the text is no longer `before`. */
  replace(change: { readonly before: string; readonly after: string }): Promise<void>
}

export type RotationSteps = {
  readonly store: KeyStore
  /**
   * Continues the rotation to the newest key in `text`, the content of the store. Returns the state of the rotation.
   */
  advance(text: string): Promise<KeyStatus>
  readonly print: (line: string) => void
  /** Milliseconds between two calls of `advance`. */
  readonly pollMs: number
}

export type RotatedKey = {
  readonly key: string
  readonly former: readonly string[]
  readonly secrets: number
}

/**
 * Time in milliseconds after which a rotation that waits for a replica is reported as an error. The rotation continues
 * without the command.
 */
const PATIENCE_MS = 600_000

/**
 * Rotates the master key: adds a key, waits until every secret is encrypted with it, and removes the former keys.
 * Continues a rotation that was interrupted.
 */
export async function rotateKeys({ store, advance, print, pollMs }: RotationSteps): Promise<RotatedKey> {
  const text = await withTwoKeys(store, print)
  const { ids, content } = namedKeys(text, store.name)
  const until = performance.now() + PATIENCE_MS
  let printed = ''
  for (;;) {
    const status = await advance(text)
    if (status.is_complete) {
      await store.replace({ before: text, after: masterKeysText(withoutFormerKeys(content)) })
      const key = ids.at(-1) ?? ''
      return { key, former: ids.slice(0, -1), secrets: status.secrets[key] ?? 0 }
    }
    const line = progressLine(status)
    if (line !== printed) print(line)
    printed = line
    if (performance.now() > until)
      throw new ChaperoneError('not_ready', {
        detail: `${line} The rotation continues without this command. Run the command again to remove the former key.`,
      })
    await sleep(pollMs)
  }
}

async function withTwoKeys(store: KeyStore, print: RotationSteps['print']): Promise<string> {
  const before = await store.read()
  const { ids, content } = namedKeys(before, store.name)
  if (ids.length > 1) {
    print(`Continuing the rotation to master key ${ids.at(-1)}.`)
    return before
  }
  const after = masterKeysText(withNewKey(content, randomBytes(32)))
  await store.replace({ before, after })
  print(`Added master key ${namedKeys(after, store.name).ids.at(-1)} to ${store.name}.`)
  return after
}

/** Returns the text about a rotation that has ended. */
export function rotatedLine({ key, former, secrets }: RotatedKey, place: string): string {
  return (
    `Master key ${key} encrypts all ${secrets} stored secrets. Removed ${former.join(' and ')} from ${place}.\n` +
    'Keep the former key with the backups that were made before, and a copy of the new one in another place.'
  )
}

/** Returns one sentence about the current step of a rotation. */
export function progressLine({
  sealing_key: sealing,
  keys,
  secrets,
  waiting_for: replicas,
}: KeyStatus): string {
  const newest = keys.at(-1)
  const waiting = replicas.length === 0 ? '' : ` Waiting for replica ${replicas.join(', ')}.`
  if (sealing !== newest) return `Master key ${newest} is not used for encryption yet.${waiting}`
  const left = Object.entries(secrets).reduce((sum, [id, count]) => (id === newest ? sum : sum + count), 0)
  return `Master key ${newest} encrypts new secrets; ${left} stored secrets are still encrypted with a former key.${waiting}`
}
