import type { RawHeaders } from './canonical.ts'
import { headerValue } from './headers.ts'

const GRPC = /^application\/grpc(?:\+[^;\s]+)?[\t ]*(?:;|$)/i

/**
 * Reports whether the request is gRPC, in any message encoding. gRPC-Web does not count: it uses HTTP/1.1 and has its
 * own media type.
 */
export function isGrpc(headers: RawHeaders): boolean {
  return GRPC.test(headerValue(headers, 'content-type') ?? '')
}
