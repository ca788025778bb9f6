import { isGrpc } from '../../../core/request/grpc.ts'
import type { Exchange } from '../../pipeline/exchange.ts'

/**
 * True for a gRPC call that came over HTTP/2: its status is in trailers and both bodies run at once, which no HTTP/1.1
 * server of gRPC can offer. Everything else leaves over HTTP/1.1, whichever version it came in: there one connection
 * carries one request, so that an exchange that is cut takes nobody with it and no answer waits behind another's lost
 * packet, and every upstream speaks it.
 */
export function needsHttp2({ raw }: Exchange): boolean {
  return raw.httpVersion === '2' && isGrpc(raw.rawHeaders)
}
