import { mayBePrivate } from '../../../core/decision/egress.ts'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import type { Upstream } from '../../upstream/http.ts'
import type { Outbound } from '../../upstream/outbound.ts'
import { plainTarget, targetOf, type UpstreamTarget } from '../../upstream/target.ts'
import { scanCandidates } from '../candidate-name.ts'
import type { Exchange, Stage } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { askForPlain, toolFilterOf } from '../tool-filter.ts'

/** The only stage that reaches an upstream. */
export function createForward({ clock }: Pick<PipelinePorts, 'clock'>, upstream: Upstream): Stage {
  return {
    name: 'forward',
    run(exchange): Promise<undefined> {
      const { request } = exchange
      if (request === undefined) throw new Error('forwarded before it was read')
      const target = whereTo(exchange, request)
      if (exchange.kind === 'tunnel') return upstream.tunnel(exchange, target)
      return upstream.forward(exchange, outboundOf(exchange, target, clock.nowMs()))
    },
  }
}

function whereTo({ connector, snapshot }: Exchange, request: CanonicalRequest): UpstreamTarget {
  if (connector !== undefined) return targetOf(connector.entry, request)
  const { host, port } = request
  return plainTarget(request, snapshot !== undefined && mayBePrivate(snapshot, host, port))
}

function outboundOf(exchange: Exchange, target: UpstreamTarget, nowMs: number): Outbound {
  const { outbound, raw } = exchange
  if (outbound === undefined) throw new Error('forwarded before its credentials were seen to')
  const edit = toolFilterOf(exchange, nowMs)
  return {
    target,
    method: raw.method,
    path: outbound.rawTarget,
    rawHeaders:
      edit === null && !isScrubbed(exchange) ? outbound.rawHeaders : askForPlain(outbound.rawHeaders),
    body: exchange.bodyBytes ?? exchange.body.forward(),
    watch: scanCandidates(exchange),
    edit,
    echoMask: exchange.echoMask ?? null,
  }
}

/** What is compressed could not be scrubbed. */
function isScrubbed({ connector, echoMask }: Exchange): boolean {
  return connector?.entry.scrubResponses === true && Boolean(echoMask)
}
