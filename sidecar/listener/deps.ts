import type { RawHeaders } from '../../core/request/canonical.ts'
import type { Credentials } from '../pipeline/credentials/credentials.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Log } from '../process/log.ts'
import type { LeafCache } from '../tls/leaf-cache.ts'
import type { OnQuota, QuotaLimits } from './connection-quotas.ts'

/** A request to the gateway's own API: in origin form, on the shared port. */
export type ApiRequest = {
  readonly method: string
  readonly path: string
  /** Query string without `?`; empty when there is none. */
  readonly query: string
  readonly headers: RawHeaders
  /**
   * Reads the whole body. Rejects with `body_too_large` beyond the size limit, and with `malformed_request` when the
   * body is incomplete after the time limit.
   */
  readonly readBody: () => Promise<Buffer>
  /** Called when the caller has presented the token of the API. */
  readonly onAuthenticated: () => void
  readonly remoteAddress: string
  /** Local address and port of the connection. */
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
  /**
   * Certificates for refused hosts, with a cache of their own: agents choose these names, and must not evict
   * certificates of hosts that a connector owns.
   */
  readonly refusalLeaf: LeafCache
  /**
   * True when clients trust the gateway's certificates for every name. The gateway can then send refusals inside TLS
   * for hosts that no connector owns. False in pods, and where the certificate authority (CA) has name constraints.
   */
  readonly canRefuseInside: boolean
  /** Runs one exchange through the pipeline. Resolves when the response is sent. */
  handle(exchange: Exchange): Promise<unknown>
  /** Returns how a CONNECT is handled; see `Admit`. */
  admit(
    target: { readonly host: string; readonly port: number },
    credentials: Credentials,
  ): 'intercept' | 'refuse' | 'pipeline'
  /**
   * Returns true for a host for which some clients fail when they use HTTP/2. For such a host, the gateway selects
   * HTTP/1.1 in ALPN when the client offers both versions.
   */
  prefersHttp1(host: string): boolean
  /** Returns the agent with these credentials; null for unknown credentials. */
  agentOf(credentials: Credentials): string | null
  /** Called when a quota refuses or evicts a connection. */
  readonly onQuota: OnQuota
  api(request: ApiRequest): Promise<ApiReply>
  newRequestId(): string
  readonly log: Pick<Log, 'debug' | 'warn' | 'error'>
  readonly limits: FrontLimits
}
