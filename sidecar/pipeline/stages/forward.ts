import type { Upstream } from '../../upstream/http.ts'
import { targetOf } from '../../upstream/target.ts'
import { scanCandidates } from '../candidate-name.ts'
import type { Exchange, Stage } from '../exchange.ts'

/** The only stage that reaches an upstream. */
export function createForward(upstream: Upstream): Stage {
  return {
    name: 'forward',
    run(exchange): Promise<undefined> {
      const { request } = exchange
      if (request === undefined) throw new Error('forwarded before it was read')
      const target = targetOf(exchange.connector?.entry ?? null, request)
      return exchange.kind === 'tunnel' ? upstream.tunnel(exchange, target) : send(exchange, upstream, target)
    },
  }
}

function send(
  exchange: Exchange,
  upstream: Upstream,
  target: ReturnType<typeof targetOf>,
): Promise<undefined> {
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
