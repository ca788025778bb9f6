import { mayBePrivate } from '../../../core/decision/egress.ts'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import type { Upstream } from '../../upstream/http.ts'
import { plainTarget, targetOf, type UpstreamTarget } from '../../upstream/target.ts'
import { scanCandidates } from '../candidate-name.ts'
import type { Exchange, Stage } from '../exchange.ts'

/** The only stage that reaches an upstream. */
export function createForward(upstream: Upstream): Stage {
  return {
    name: 'forward',
    run(exchange): Promise<undefined> {
      const { request } = exchange
      if (request === undefined) throw new Error('forwarded before it was read')
      const target = whereTo(exchange, request)
      return exchange.kind === 'tunnel' ? upstream.tunnel(exchange, target) : send(exchange, upstream, target)
    },
  }
}

function whereTo({ connector, snapshot }: Exchange, request: CanonicalRequest): UpstreamTarget {
  if (connector !== undefined) return targetOf(connector.entry, request)
  const { host, port } = request
  return plainTarget(request, snapshot !== undefined && mayBePrivate(snapshot, host, port))
}

function send(exchange: Exchange, upstream: Upstream, target: UpstreamTarget): Promise<undefined> {
  const { outbound, raw } = exchange
  if (outbound === undefined) throw new Error('forwarded before its credentials were seen to')
  return upstream.forward(exchange, {
    target,
    method: raw.method,
    path: outbound.rawTarget,
    rawHeaders: outbound.rawHeaders,
    body: exchange.bodyBytes ?? exchange.body.forward(),
    watch: scanCandidates(exchange),
  })
}
