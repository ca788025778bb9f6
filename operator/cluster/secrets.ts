import type { Logger } from 'pino'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { keyOf, pathOf, RESOURCES, splitKey } from '../kube/objects.ts'
import { sleep } from '../kube/sleep.ts'
import type { SecretReading } from './credentials.ts'
import { type InformerCaches, queueKey } from './custom-resources.ts'

/** Reads the Secrets that Connectors refer to. A Secret is read by its name; no Secret is listed or watched. */
export type ConnectorSecrets = {
  /** Returns the result of the last read. Reads the Secret when there is no earlier result. */
  read(key: string): Promise<SecretReading>
  /** Polls until the signal is aborted. */
  follow(): Promise<void>
}

export type ConnectorSecretsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly caches: Pick<InformerCaches, 'Connector'>
  /** Called with the key of each Connector whose Secret changed. */
  readonly enqueue: (key: string) => void
  readonly signal: AbortSignal
  readonly log: Logger
  readonly pollMs?: number
}

/** Interval of polls. A new credential must be in use within 5 s, which includes the push. */
const POLL_MS = 3_000
const CONCURRENCY = 16
const TIMEOUT_MS = 5_000

type Secret = { readonly data?: Readonly<Record<string, string>> }

export function createConnectorSecrets(deps: ConnectorSecretsDeps): ConnectorSecrets {
  const { client, caches, enqueue, signal, log, pollMs = POLL_MS } = deps
  const known = new Map<string, SecretReading>()

  async function refresh(key: string): Promise<SecretReading> {
    const reading = await fetchSecret(client, key)
    const before = known.get(key)
    // A Secret that is unreadable at the moment, for example while the API server is overloaded, keeps its last result.
    if (reading.state === 'unreadable' && before !== undefined) return before
    known.set(key, reading)
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(reading)) {
      log.info({ secret: key, state: reading.state }, 'secret changed')
      for (const connector of connectorsOf(caches, key)) enqueue(connector)
    }
    return reading
  }

  async function poll(): Promise<void> {
    const keys = [...referencedSecrets(caches)]
    for (const key of known.keys()) if (!keys.includes(key)) known.delete(key)
    for (let at = 0; at < keys.length && !signal.aborted; at += CONCURRENCY)
      await Promise.all(keys.slice(at, at + CONCURRENCY).map(refresh))
  }

  return {
    read: async (key) => known.get(key) ?? (await refresh(key)),
    async follow() {
      while (!signal.aborted) {
        await poll()
        await sleep(pollMs, signal)
      }
    },
  }
}

function referencedSecrets({ Connector }: Pick<InformerCaches, 'Connector'>): ReadonlySet<string> {
  return new Set(
    Connector.list().flatMap(({ metadata, spec }) =>
      spec.credential === undefined ? [] : [`${metadata.namespace}/${spec.credential.secretRef.name}`],
    ),
  )
}

function connectorsOf({ Connector }: Pick<InformerCaches, 'Connector'>, secret: string): readonly string[] {
  return Connector.list()
    .filter(({ metadata, spec }) => `${metadata.namespace}/${spec.credential?.secretRef.name}` === secret)
    .map((connector) => queueKey('Connector', keyOf(connector)))
}

async function fetchSecret(client: Pick<KubeClient, 'call'>, key: string): Promise<SecretReading> {
  const { namespace, name } = splitKey(key)
  try {
    const path = pathOf(RESOURCES.Secret, namespace, name)
    const { data = {} } = await client.call<Secret>({ method: 'GET', path, timeoutMs: TIMEOUT_MS })
    return { state: 'found', data }
  } catch (error) {
    if (hasCode(error, 'not_found')) return { state: 'missing' }
    return { state: hasCode(error, 'forbidden') ? 'forbidden' : 'unreadable' }
  }
}
