import type { ErrorCode } from '../errors.ts'

/** Header fields as received: name, value, name, value, … Order, case and duplicates are unchanged. */
export type RawHeaders = readonly string[]

/** Request as received by a listener, before any check. Strings contain one latin-1 character per byte on the wire. */
export type RawRequest = {
  readonly method: string
  /** Origin-form target exactly as forwarded (`/path?query`), or absolute-form for the explicit proxy. */
  readonly target: string
  readonly rawHeaders: RawHeaders
  readonly httpVersion: '1.0' | '1.1' | '2'
  readonly scheme: 'http' | 'https'
  readonly sources: RequestSources
}

/**
 * Parts of the connection and request that name the host. All parts that are present must agree; otherwise the gateway
 * answers 421.
 */
export type RequestSources = {
  /** Authority `host:port` of the CONNECT request that opened the tunnel. */
  readonly connectAuthority?: string
  readonly sni?: string
  /**
   * Pseudo-header `:authority` of HTTP/2. The Host header and an absolute-form target are read from the request
   * itself.
   */
  readonly authority?: string
}

export type BodyInfo = {
  /** Declared length in bytes; absent when chunked or on HTTP/2 without content-length. */
  readonly length?: number | undefined
  readonly isChunked: boolean
  /** Media type in lower case without parameters, e.g. `application/json`. */
  readonly mediaType?: string | undefined
  readonly charset?: string | undefined
  /** Content-Encoding in lower case; absent means identity. */
  readonly encoding?: string | undefined
}

/** The only interpretation of a request. Classification, approval binding and forwarding all use it. */
export type CanonicalRequest = {
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** Host in lower case, without a trailing dot and without a port; an IPv6 literal without brackets. */
  readonly host: string
  readonly port: number
  /**
   * Target in origin-form, byte for byte as sent upstream, before a credential is removed from the query. For CONNECT,
   * the authority.
   */
  readonly rawTarget: string
  readonly rawPath: string
  /** Query without `?`; empty if there is none. */
  readonly rawQuery: string
  /** Path segments still percent-encoded. `/a/b` has two; `/` has none. */
  readonly rawSegments: readonly string[]
  /**
   * Path segments, decoded once. A decoded segment may contain `/` (from `%2F`), which only a `{name+}` parameter of a
   * catalogue row accepts.
   */
  readonly segments: readonly string[]
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  readonly rawHeaders: RawHeaders
  readonly body: BodyInfo
  readonly isUpgrade: boolean
}

/** Refusal as a return value. `detail` states the problem and its correction. */
export type Refusal = {
  readonly kind: 'refusal'
  readonly code: ErrorCode
  readonly detail: string
  /**
   * Detail without names of rules, for agents of a Gateway with `refusalDetail: brief`. Absent if `detail` itself names
   * no rules.
   */
  readonly brief?: string
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal'
}

export function refusal(code: ErrorCode, detail: string): Refusal {
  return { kind: 'refusal', code, detail }
}
