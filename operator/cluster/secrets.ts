import type { Logger } from 'pino'
import { createBackOff } from '../../core/state/back-off.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { keyOf, splitKey } from '../kube/objects.ts'
import type { SecretReading } from './credentials.ts'
import { type CustomResource, type InformerCaches, queueKey } from './custom-resources.ts'
import { type ReadSecret, readSecret, SECRET_WATCH_TIMING, watchSecret } from './secret-watch.ts'

/**
 * Keeps the state of the Secrets that Connectors refer to up to date. A Secret is watched by its name. No
 * Secrets are listed, so the rights `get` and `watch` on the names suffice.
 */
export type ConnectorSecrets = {
  /** Returns the last known state of the Secret (`namespace/name`). Reads the Secret when no state is known. */
  read(key: string): Promise<SecretReading>
  /** Keeps the state of the Secrets up to date until the signal is aborted. */
  follow(): Promise<void>
  counts(): SecretCounts
}

export type SecretCounts = {
  readonly watched: number
  /** Numbers of Secrets that cannot be read, by reason. */
  readonly unreadable: Readonly<Record<Exclude<SecretReading['state'], 'found'>, number>>
  /** Seconds since the oldest credential of a namespace was last changed, by namespace. */
  readonly ageS: ReadonlyMap<string, number>
}

export const NO_SECRETS: SecretCounts = {
  watched: 0,
  unreadable: { missing: 0, forbidden: 0, unreadable: 0 },
  ageS: new Map(),
}

export type ConnectorSecretsDeps = {
  readonly client: Pick<KubeClient, 'call' | 'open'>
  readonly caches: Pick<InformerCaches, 'Connector'>
  /** Called with the key of each Connector whose Secret changed. */
  readonly enqueue: (key: string) => void
  /** Called for each Connector whose Secret may not be watched or read, at the first of consecutive refusals. */
  readonly onForbidden: (connector: CustomResource<'Connector'>) => void
  readonly signal: AbortSignal
  readonly log: Logger
  /** Minimum number of milliseconds between two reads of a Secret that is not watched. */
  readonly pollMs?: number
  readonly maxWatches?: number
  readonly watchTiming?: typeof SECRET_WATCH_TIMING
}

const POLL_MS = 3_000
/**
 * Maximum number of milliseconds between two reads of a Secret that is not watched, or that the operator may
 * not read.
 */
const MAX_POLL_MS = 30_000
/** Maximum number of watches. Each is a connection to the API server. */
const MAX_WATCHES = 200
/** Time in milliseconds after which a watch counts as healthy and resets the back-off. */
const HEALTHY_MS = 10_000
/**
 * Interval in milliseconds at which the references of Connectors are compared with the Secrets that are
 * watched or polled.
 */
const COMPARE_MS = 1_000

type Followed = { readonly ended: AbortController; readonly done: Promise<void> }

type State = {
  readonly deps: ConnectorSecretsDeps
  readonly known: Map<string, ReadSecret>
  watched: number
}

export function createConnectorSecrets(deps: ConnectorSecretsDeps): ConnectorSecrets {
  const { client, caches, signal, pollMs = POLL_MS } = deps
  const state: State = { deps, known: new Map(), watched: 0 }
  const { known } = state
  const followed = new Map<string, Followed>()

  function start(key: string): Followed {
    const ended = new AbortController()
    return { ended, done: followSecret(state, key, AbortSignal.any([signal, ended.signal])) }
  }

  /**
   * Begins to watch newly referenced Secrets, and ends the watches of Secrets that no Connector refers to any
   * more.
   */
  function compare(): void {
    const keys = referencedSecrets(caches)
    const gone = [...known.keys(), ...followed.keys()].filter((key) => !keys.has(key))
    for (const key of gone) {
      known.delete(key)
      followed.get(key)?.ended.abort()
      followed.delete(key)
    }
    for (const key of keys) if (!followed.has(key)) followed.set(key, start(key))
  }

  return {
    async read(key) {
      const before = known.get(key)
      if (before !== undefined) return before.reading
      const secret = await readSecret(client, key, signal)
      // The watch may have sent a newer state during the read.
      if (!known.has(key)) known.set(key, secret)
      return (known.get(key) ?? secret).reading
    },
    async follow() {
      while (!signal.aborted) {
        compare()
        await sleep(Math.min(COMPARE_MS, pollMs), signal)
      }
      await Promise.all([...followed.values()].map(({ done }) => done))
    },
    counts: () => countsOf(state),
  }
}

/** Watches one Secret, or reads it at growing intervals while it cannot be watched. */
async function followSecret(state: State, key: string, signal: AbortSignal): Promise<void> {
  const { client, pollMs = POLL_MS, watchTiming: timing = SECRET_WATCH_TIMING } = state.deps
  const backOff = createBackOff({ minMs: pollMs, maxMs: MAX_POLL_MS, random: Math.random })
  const refusals = createRefusalReports(state.deps, key)
  const onRead = (secret: ReadSecret) => {
    if (!signal.aborted && put(state, key, secret)) backOff.reset()
  }
  while (!signal.aborted) {
    const startedAt = performance.now()
    const failure = await watch(state, () => watchSecret({ client, key, timing, signal, onRead }))
    if (signal.aborted) return
    refusals.afterWatch(failure)
    const isHealthy = performance.now() - startedAt > HEALTHY_MS
    if (isHealthy) backOff.reset()
    if (failure === null && isHealthy) continue
    // When too many Secrets are watched, this function waits before it reads the Secret, because the reconcile of the
    // Connector read it a moment ago.
    const [beforeMs, afterMs] = failure === TOO_MANY ? [backOff.next(), 0] : [0, backOff.next()]
    await sleep(beforeMs, signal)
    const secret = await readSecret(client, key, signal)
    refusals.afterRead(secret, failure)
    onRead(secret)
    await sleep(afterMs, signal)
  }
}

type RefusalReports = {
  /** `failure`: the result of `watch`. */
  afterWatch(failure: unknown): void
  /** `failure`: the result of `watch` before the read. Only the reads of a Secret that is not watched count. */
  afterRead(secret: ReadSecret, failure: unknown): void
}

/** Creates the reports of the first of consecutive refusals to watch a Secret, or to read one that is not watched. */
function createRefusalReports(deps: ConnectorSecretsDeps, key: string): RefusalReports {
  let wasRefused = false
  function report(isRefused: boolean): void {
    if (isRefused && !wasRefused) {
      deps.log.warn(
        { secret: key },
        'secret of a Connector cannot be watched or read, so a changed credential takes effect late; the operator tries again and needs the verbs get and watch on the Secret',
      )
      for (const connector of connectorsOf(deps.caches, key)) deps.onForbidden(connector)
    }
    wasRefused = isRefused
  }
  return {
    // Other failures, such as an unreachable API server, do not show whether the operator has the right.
    afterWatch(failure) {
      const isRefused = hasCode(failure, 'forbidden')
      if (isRefused || failure === null) report(isRefused)
    },
    afterRead({ reading: { state } }, failure) {
      if (failure === TOO_MANY && state !== 'unreadable') report(state === 'forbidden')
    },
  }
}

/**
 * Runs a watch if fewer than the maximum are open. Resolves with the error of the watch, or `TOO_MANY`; null when the
 * API server ended the watch regularly.
 */
async function watch(state: State, open: () => Promise<void>): Promise<unknown> {
  if (state.watched >= (state.deps.maxWatches ?? MAX_WATCHES)) return TOO_MANY
  state.watched++
  try {
    await open()
    return null
  } catch (error) {
    return error
  } finally {
    state.watched--
  }
}

const TOO_MANY = new Error(
  'the operator already watches the maximum number of Secrets; it reads this Secret at intervals instead',
)

/** Stores a state. Returns true when the content of the Secret changed. */
function put({ deps, known }: State, key: string, secret: ReadSecret): boolean {
  const before = known.get(key)
  const { reading } = secret
  // A Secret that is unreadable at the moment, for example while the API server is overloaded, keeps its last state.
  if (reading.state === 'unreadable' && before !== undefined) return false
  known.set(key, secret)
  if (before === undefined || JSON.stringify(before.reading) === JSON.stringify(reading)) return false
  deps.log.info({ secret: key, state: reading.state }, 'secret changed')
  for (const connector of connectorsOf(deps.caches, key))
    deps.enqueue(queueKey('Connector', keyOf(connector)))
  return true
}

function countsOf({ known, watched }: State): SecretCounts {
  const unreadable = { ...NO_SECRETS.unreadable }
  const ageS = new Map<string, number>()
  for (const [key, { reading, changedAtMs }] of known) {
    if (reading.state !== 'found') unreadable[reading.state]++
    if (changedAtMs === null) continue
    const { namespace } = splitKey(key)
    ageS.set(namespace, Math.max(ageS.get(namespace) ?? 0, (Date.now() - changedAtMs) / 1_000))
  }
  return { watched, unreadable, ageS }
}

function referencedSecrets({ Connector }: Pick<InformerCaches, 'Connector'>): ReadonlySet<string> {
  return new Set(
    Connector.list().flatMap(({ metadata, spec }) =>
      spec.credential?.secretRef === undefined
        ? []
        : [`${metadata.namespace}/${spec.credential.secretRef.name}`],
    ),
  )
}

function connectorsOf(
  { Connector }: Pick<InformerCaches, 'Connector'>,
  secret: string,
): ReadonlyArray<CustomResource<'Connector'>> {
  return Connector.list().filter(
    ({ metadata, spec }) => `${metadata.namespace}/${spec.credential?.secretRef?.name}` === secret,
  )
}
