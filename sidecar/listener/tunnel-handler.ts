import type { RequestSources } from '../../core/request/canonical.ts'
import type { Credentials } from '../pipeline/credentials/credentials.ts'
import { Exchange, type Transport } from '../pipeline/exchange.ts'
import type { FrontDeps } from './deps.ts'
import type { Problem } from './http1/framing.ts'
import type { Incoming, RequestHandler } from './http1/incoming.ts'

/** Context shared by all requests of one tunnel, decrypted or plain. */
export type TunnelContext = {
  readonly scheme: 'http' | 'https'
  readonly credentials: Credentials
  readonly sources: RequestSources
  /** True when the tunnel belongs to an agent's own port. */
  readonly isPort: boolean
}

/** Creates the request handler of a tunnel. Each request becomes a separate exchange. */
export function createTunnelHandler(deps: FrontDeps, context: TunnelContext): RequestHandler {
  const transport: Transport = context.isPort ? 'port-h1' : 'connect-h1'
  return (incoming) => {
    const { head, body, reply, abort, acceptedAt, timeMs } = incoming
    return deps.handle(
      new Exchange({
        id: deps.newRequestId(),
        acceptedAt,
        timeMs,
        kind: head.framing.upgrade === null ? 'http' : 'upgrade',
        transport,
        raw: {
          method: head.method,
          target: head.target,
          rawHeaders: head.rawHeaders,
          httpVersion: head.httpVersion,
          scheme: context.scheme,
          sources: context.sources,
        },
        credentials: context.credentials,
        body,
        reply,
        template: incoming.template,
        abort,
        problem: incoming.problem ?? targetProblem(incoming),
      }),
    )
  }
}

function targetProblem({ head: { method, target } }: Incoming): Problem | null {
  if (method === 'CONNECT')
    return { code: 'malformed_request', detail: 'CONNECT inside a tunnel is not supported' }
  if (target.startsWith('/') || target === '*' || /^https?:\/\//i.test(target)) return null
  return { code: 'malformed_request', detail: 'the request target must be a path or an http(s) URL' }
}
