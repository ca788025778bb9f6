import type { Upstream } from '../../upstream/http.ts'
import { targetOf } from '../../upstream/target.ts'
import { scanCandidates } from '../candidate-name.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'

/** The only stage that reaches an upstream. */
export function createForward(upstream: Upstream): Stage {
  return {
    name: 'forward',
    async run(exchange): Promise<StageResult> {
      const { request } = exchange
      if (request === undefined) throw new Error('forwarded before it was read')
      const target = targetOf(exchange.connector?.entry ?? null, request)
      if (exchange.kind === 'tunnel') await upstream.tunnel(exchange, target)
      else await send(exchange, upstream, target)
      return 'responded'
    },
  }
}

async function send(
  exchange: Exchange,
  upstream: Upstream,
  target: ReturnType<typeof targetOf>,
): Promise<void> {
  const { outbound, raw } = exchange
  if (outbound === undefined) throw new Error('forwarded before its credentials were seen to')
  const scan = scanCandidates(exchange)
  await upstream.forward(exchange, {
    target,
    method: raw.method,
    path: outbound.rawTarget,
    rawHeaders: outbound.rawHeaders,
    body: exchange.bodyBytes ?? exchange.body.forward(),
    ...(scan === null ? {} : { onBodyChunk: scan.push }),
  })
  scan?.name()
}
