import { lookup } from 'node:dns/promises'
import type { Logger } from 'pino'
import type { Replica } from './control-plane-http.ts'
import { createOutageLog } from './outage-log.ts'

/** Where all replicas of the control plane are, so that each can be told what must not wait for the database. */
export type Replicas = {
  /** Never empty: when their name does not resolve, those known last, else the address that everything else uses. */
  find(): Promise<readonly Replica[]>
}

export type ReplicasDeps = {
  readonly controlPlaneUrl: string
  /** Addresses of the replicas, or none. */
  readonly urls: readonly string[]
  /** The name of a headless Service, whose every address is a replica; null = none. */
  readonly host: string | null
  readonly log: Logger
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

export function createReplicas({ controlPlaneUrl, urls, host, log, resolve = all }: ReplicasDeps): Replicas {
  const outages = createOutageLog({
    log,
    message: 'replicas of the control plane not found, using those known last',
  })
  const service: Replica = { url: controlPlaneUrl, address: null }
  let known: readonly Replica[] = urls.length === 0 ? [service] : urls.map((url) => ({ url, address: null }))
  return {
    async find() {
      if (host === null) return known
      try {
        const addresses = await resolve(host)
        outages.answered(host)
        if (addresses.length > 0)
          known = [...addresses].sort().map((address) => ({ url: controlPlaneUrl, address }))
      } catch (error) {
        outages.failed(host, error)
      }
      return known
    },
  }
}

export function replicaName({ url, address }: Replica): string {
  return address ?? url
}

async function all(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}
