import type { Logger } from 'pino'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES, splitKey } from '../kube/objects.ts'
import { sleep } from '../kube/sleep.ts'
import type { SecretReading } from './credentials.ts'

/** Secrets that Connectors name, each read by its name alone; nothing lists or watches Secrets. */
export type Secrets = {
  /** As it was last read; read now when it never was. */
  read(key: string): Promise<SecretReading>
  /** Reads again and again until the signal is aborted. */
  follow(): Promise<void>
}

export type SecretsDeps = {
  readonly client: Pick<KubeClient, 'call'>
  /** `namespace/name` of every Secret that a Connector names now. */
  readonly named: () => ReadonlySet<string>
  /** Called with the key of a Secret that reads differently from before. */
  readonly onChange: (key: string) => void
  readonly signal: AbortSignal
  readonly log: Logger
  readonly pollMs?: number
}

/** With the time of a hand-over, well within the five seconds in which a new credential is to be in use. */
const POLL_MS = 3_000
const AT_A_TIME = 16
const TIMEOUT_MS = 5_000

type Secret = { readonly data?: Readonly<Record<string, string>> }

export function createSecrets(deps: SecretsDeps): Secrets {
  const { client, named, onChange, signal, log, pollMs = POLL_MS } = deps
  const known = new Map<string, SecretReading>()

  async function look(key: string): Promise<SecretReading> {
    const reading = await fetchSecret(client, key)
    const before = known.get(key)
    // A credential that was read once is not forgotten because the API server is busy.
    if (reading.state === 'unreadable' && before !== undefined) return before
    known.set(key, reading)
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(reading)) {
      log.info({ secret: key, state: reading.state }, 'secret changed')
      onChange(key)
    }
    return reading
  }

  async function lookAtAll(): Promise<void> {
    const keys = [...named()]
    for (const key of known.keys()) if (!keys.includes(key)) known.delete(key)
    for (let at = 0; at < keys.length && !signal.aborted; at += AT_A_TIME)
      await Promise.all(keys.slice(at, at + AT_A_TIME).map(look))
  }

  return {
    read: async (key) => known.get(key) ?? (await look(key)),
    async follow() {
      while (!signal.aborted) {
        await lookAtAll()
        await sleep(pollMs, signal)
      }
    },
  }
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
