import type { RawHeaders } from './canonical.ts'
import { headerValue } from './headers/headers.ts'

const GRPC = /^application\/grpc(?:\+[^;\s]+)?[\t ]*(?:;|$)/i

/**
 * Reports whether the request is gRPC, in any message encoding. gRPC-Web does not count: it has its own media type, and
 * needs no HTTP/2 trailers.
 */
export function isGrpc(headers: RawHeaders): boolean {
  return GRPC.test(headerValue(headers, 'content-type') ?? '')
}
