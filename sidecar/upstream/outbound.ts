import type { Readable } from 'node:stream'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { HeadText } from './http1/request-head.ts'
import type { UpstreamTarget } from './target.ts'

/** One outbound request, including the credential. `path` is sent byte for byte. */
export type Outbound = {
  readonly target: UpstreamTarget
  readonly method: string
  readonly path: string
  readonly rawHeaders: RawHeaders
  /** Cache of the serialized head for exactly these `rawHeaders`; null or absent when the head is not cached. */
  readonly headText?: HeadText | null
  /** Request body. Set to null when the request is sent, so that the buffer is freed: the response may take minutes. */
  body: Buffer | Readable | null
}

export type Sending = {
  /** Protocol of a request that upgrades the connection; null for other requests. */
  readonly upgrade: string | null
  readonly isHttp2: boolean
}
