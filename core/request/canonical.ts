import type { ErrorCode } from '../errors.ts'

/** Raw header fields as received: name, value, name, value, … Order, case and duplicates are kept. */
export type RawHeaders = readonly string[]

/** A request as received by a listener, before any checks. Strings are latin-1 of the bytes on the wire. */
export type RawRequest = {
  readonly method: string
  /** Origin-form target exactly as forwarded (`/path?query`), or absolute-form for the explicit proxy. */
  readonly target: string
  readonly rawHeaders: RawHeaders
  readonly httpVersion: '1.0' | '1.1' | '2'
  readonly scheme: 'http' | 'https'
  readonly sources: RequestSources
}

/** The parts of a request that name its host. All parts that are present must agree (421 otherwise). */
export type RequestSources = {
  /** Authority `host:port` of the CONNECT request that opened the tunnel. */
  readonly connectAuthority?: string
  readonly sni?: string
  /** `:authority` of HTTP/2. The Host header and an absolute-form target are read from the request itself. */
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

/** The single interpretation of a request. Classification, approval binding and forwarding use only this. */
export type CanonicalRequest = {
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** Host in lower case, without a trailing dot and without a port; an IPv6 literal without brackets. */
  readonly host: string
  readonly port: number
  /**
   * Origin-form, byte for byte as sent upstream (before removal of a credential from the query). For CONNECT the
   * authority.
   */
  readonly rawTarget: string
  readonly rawPath: string
  /** Query without `?`; empty if there is none. */
  readonly rawQuery: string
  /** Path segments still percent-encoded. `/a/b` has two; `/` has none. */
  readonly rawSegments: readonly string[]
  /**
   * Path segments, decoded once. A segment whose decoded text contains `/` is only valid inside a `{name+}` parameter.
   */
  readonly segments: readonly string[]
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  readonly rawHeaders: RawHeaders
  readonly body: BodyInfo
  readonly isUpgrade: boolean
}

/** A refusal as a value. `detail` states the problem and the correction. */
export type Refusal = { readonly kind: 'refusal'; readonly code: ErrorCode; readonly detail: string }

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal'
}

export function refusal(code: ErrorCode, detail: string): Refusal {
  return { kind: 'refusal', code, detail }
}
