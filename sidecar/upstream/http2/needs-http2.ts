import { isGrpc } from '../../../core/request/grpc.ts'
import type { Exchange } from '../../pipeline/exchange.ts'

/**
 * Returns true for a gRPC call that arrived over HTTP/2. The status of a gRPC call is in trailers and both bodies run
 * concurrently, which HTTP/1.1 does not offer for gRPC. All other requests are sent over HTTP/1.1: every upstream
 * supports HTTP/1.1, and with one request for each connection neither a cut exchange nor a lost packet affects other
 * requests.
 */
export function needsHttp2({ raw }: Exchange): boolean {
  return raw.httpVersion === '2' && isGrpc(raw.rawHeaders)
}
