import type { RawHeaders } from '../../core/request/canonical.ts'
import type { Credentials, Exchange } from '../pipeline/exchange.ts'
import type { Log } from '../process/log.ts'
import type { LeafCache } from '../tls/leaf-cache.ts'
import type { OnQuota, QuotaLimits } from './connection-quotas.ts'

/** A request to the gateway itself: origin-form on the shared port. */
export type ApiRequest = {
  readonly method: string
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
  readonly headers: RawHeaders
  /** The whole body. Rejects with `body_too_large`, and with `malformed_request` when it is not complete in time. */
  readonly readBody: () => Promise<Buffer>
  /** The caller has shown the token. */
  readonly onAuthenticated: () => void
  readonly remoteAddress: string
  /** Our end of the connection. */
  readonly local: { readonly address: string; readonly port: number }
}

export type ApiReply = {
  readonly status: number
  readonly headers: RawHeaders
  readonly body: string | Buffer
}

export type FrontLimits = QuotaLimits & {
  readonly idleTimeoutMs: number
  readonly headTimeoutMs: number
}

export type FrontDeps = {
  readonly leaf: LeafCache
  /** Certificates of hosts that are refused: agents choose these names, and must not evict those of owned hosts. */
  readonly refusalLeaf: LeafCache
  /**
   * Clients trust the certificates for every name, so that refusals of hosts that no connector owns are sent inside TLS.
   * False in pods, and where the names of the certificate authority are constrained.
   */
  readonly canRefuseInside: boolean
  /** Takes one exchange through the pipeline; resolves when it is answered. */
  handle(exchange: Exchange): Promise<void>
  /** Decides how a CONNECT is handled; see `Admit`. */
  admit(
    target: { readonly host: string; readonly port: number },
    credentials: Credentials,
  ): 'intercept' | 'refuse' | 'pipeline'
  /** True for a host some of whose clients fail over HTTP/2: TLS chooses HTTP/1.1 for a client that offers both. */
  prefersHttp1(host: string): boolean
  /** Returns the agent with these credentials; null for unknown credentials. */
  agentOf(credentials: Credentials): string | null
  /** A connection was refused or evicted, because a quota is used up. */
  readonly onQuota: OnQuota
  api(request: ApiRequest): Promise<ApiReply>
  newRequestId(): string
  readonly log: Pick<Log, 'debug' | 'warn' | 'error'>
  readonly limits: FrontLimits
}
