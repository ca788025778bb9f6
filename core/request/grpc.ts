import type { RawHeaders } from './canonical.ts'
import { headerValue } from './headers.ts'

const GRPC = /^application\/grpc(?:\+[^;\s]+)?[\t ]*(?:;|$)/i

/** True for gRPC in any encoding of its messages. gRPC-Web is made for HTTP/1.1, and has a media type of its own. */
export function isGrpc(headers: RawHeaders): boolean {
  return GRPC.test(headerValue(headers, 'content-type') ?? '')
}
