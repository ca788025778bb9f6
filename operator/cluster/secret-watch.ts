import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES, splitKey } from '../kube/objects.ts'
import { watchdog } from '../kube/reflector.ts'
import { watchEvents } from '../kube/watch-events.ts'
import type { SecretReading } from './credentials.ts'

/**
 * A Secret as read: its content, and the Unix time in milliseconds of the last change of its content; null if the time
 * is unknown.
 */
export type ReadSecret = { readonly reading: SecretReading; readonly changedAtMs: number | null }

type Secret = {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly creationTimestamp?: string
    readonly managedFields?: ReadonlyArray<{ readonly time?: string; readonly fieldsV1?: object }>
  }
  readonly data?: Readonly<Record<string, string>>
}

export type SecretWatchTiming = {
  /** Range of the random timeout of a watch, in seconds. */
  readonly watchS: readonly [number, number]
  /**
   * Milliseconds without data after which a watch counts as half-open. While no Secret changes, the API server sends a
   * bookmark about once a minute.
   */
  readonly idleMs: number
  /**
   * Milliseconds to wait for the first event of a watch. The API server sends no event for a missing Secret, so the
   * Secret is read after this time.
   */
  readonly absenceMs: number
}

export const SECRET_WATCH_TIMING: SecretWatchTiming = { watchS: [290, 590], idleMs: 150_000, absenceMs: 500 }

export type SecretWatchDeps = {
  readonly client: Pick<KubeClient, 'call' | 'open'>
  /** `namespace/name` of the Secret. */
  readonly key: string
  readonly timing: SecretWatchTiming
  readonly signal: AbortSignal
  /** Called with every state that the API server sends. */
  readonly onRead: (secret: ReadSecret) => void
}

const TIMEOUT_MS = 5_000

/**
 * Watches one Secret from its newest state. The watch selects the Secret by name, so the verb `watch` on this name
 * suffices. Resolves when the API server ends the watch, and rejects when the watch fails or sends nothing for
 * `idleMs`.
 */
export async function watchSecret(deps: SecretWatchDeps): Promise<void> {
  const { client, key, timing, signal, onRead } = deps
  const { namespace, name } = splitKey(key)
  const [least, most] = timing.watchS
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    fieldSelector: `metadata.name=${name}`,
    timeoutSeconds: Math.round(least + (most - least) * Math.random()),
  }
  const ended = new AbortController()
  const idle = watchdog(timing.idleMs, signal)
  let isKnown = false
  try {
    const body = await client.open({ path: pathOf(RESOURCES.Secret, namespace), query, signal: idle.signal })
    body.on('data', idle.alive)
    void readAbsence({ ...deps, signal: AbortSignal.any([signal, ended.signal]) }, () => isKnown)
    for await (const { type, object } of watchEvents(body)) {
      if (type === 'BOOKMARK' || (object as Secret).metadata.name !== name) continue
      isKnown = true
      onRead(type === 'DELETED' ? MISSING : foundSecret(object as Secret))
    }
  } finally {
    ended.abort()
    idle.stop()
  }
}

const MISSING: ReadSecret = { reading: { state: 'missing' }, changedAtMs: null }

/**
 * Reads the Secret every `absenceMs` until the watch sends an event for it, or the API server answers that it is
 * missing or forbidden.
 */
async function readAbsence(
  { client, key, timing, signal, onRead }: SecretWatchDeps,
  isKnown: () => boolean,
): Promise<void> {
  for (;;) {
    await sleep(timing.absenceMs, signal)
    if (signal.aborted || isKnown()) return
    const secret = await readSecret(client, key, signal)
    if (signal.aborted || isKnown()) return
    // A Secret that was found is not passed on here: the watch sends an event for it, which is newer than this
    // response.
    if (secret.reading.state === 'missing' || secret.reading.state === 'forbidden') return onRead(secret)
  }
}

/** Reads one Secret by its name. Never rejects. */
export async function readSecret(
  client: Pick<KubeClient, 'call'>,
  key: string,
  signal: AbortSignal,
): Promise<ReadSecret> {
  const { namespace, name } = splitKey(key)
  try {
    const path = pathOf(RESOURCES.Secret, namespace, name)
    return foundSecret(await client.call<Secret>({ method: 'GET', path, timeoutMs: TIMEOUT_MS, signal }))
  } catch (error) {
    if (hasCode(error, 'not_found')) return MISSING
    return {
      reading: { state: hasCode(error, 'forbidden') ? 'forbidden' : 'unreadable' },
      changedAtMs: null,
    }
  }
}

function foundSecret({ metadata, data = {} }: Secret): ReadSecret {
  const writers = metadata.managedFields?.filter(({ fieldsV1 = {} }) => 'f:data' in fieldsV1) ?? []
  const times = [metadata.creationTimestamp, ...writers.map(({ time }) => time)]
  const known = times.map((time) => Date.parse(time ?? '')).filter((ms) => !Number.isNaN(ms))
  return { reading: { state: 'found', data }, changedAtMs: known.length === 0 ? null : Math.max(...known) }
}
