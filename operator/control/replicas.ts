import { lookup } from 'node:dns/promises'
import type { Logger } from 'pino'
import type { Replica } from './control-plane-http.ts'
import { createOutageLog } from './outage-log.ts'

/**
 * Finds all replicas of the control plane. A kill switch is sent to each replica directly, because it must not wait for
 * the database.
 */
export type Replicas = {
  /**
   * Resolves with at least one replica. While the host cannot be resolved, these are the last known replicas, or else
   * the URL of the control plane.
   */
  find(): Promise<readonly Replica[]>
}

export type ReplicasDeps = {
  readonly controlPlaneUrl: string
  /** URLs of the replicas; empty when the installation has no fixed list. */
  readonly urls: readonly string[]
  /** Host of a headless Service, with one address for each replica; null without such a Service. */
  readonly host: string | null
  readonly log: Logger
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

export function createReplicas({
  controlPlaneUrl,
  urls,
  host,
  log,
  resolve = resolveAll,
}: ReplicasDeps): Replicas {
  const outages = createOutageLog({
    log,
    message:
      'the addresses of the control plane replicas could not be resolved; the operator uses the last known addresses',
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

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}
