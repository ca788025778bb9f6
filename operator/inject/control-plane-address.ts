import { lookup } from 'node:dns/promises'

const RETRY_MS = 5_000
/**
 * Milliseconds between two resolutions of the address. A Service that is deleted and created again has
 * another address.
 */
const REFRESH_MS = 30_000

export type ControlPlaneAddress = {
  /** Returns the address; null before it is resolved, and for a control plane that is no Service of the cluster. */
  current(): string | null
  stop(): void
}

type Lookup = (host: string) => Promise<ReadonlyArray<{ readonly address: string }>>

/**
 * Resolves the address of the control plane's Service periodically, for sidecars that reach no DNS server. The address
 * is null for a name with several addresses or outside of the cluster, because only the address of a Service is stable.
 */
export function resolveControlPlane(
  url: string,
  find: Lookup = (host) => lookup(host, { all: true }),
  { retryMs, refreshMs } = { retryMs: RETRY_MS, refreshMs: REFRESH_MS },
): ControlPlaneAddress {
  const { hostname } = new URL(url)
  let address: string | null = null
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function resolve(): Promise<void> {
    let pauseMs = refreshMs
    try {
      const [first, ...others] = await find(hostname)
      address = others.length === 0 ? (first?.address ?? null) : null
    } catch {
      // While DNS fails, the last known address stays in use.
      pauseMs = retryMs
    }
    if (!isStopped) timer = setTimeout(() => void resolve(), pauseMs).unref()
  }

  if (/\.svc(\.|$)/.test(hostname)) void resolve()
  return {
    current: () => address,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
