import { decideUnowned, plainDecision } from '../../../core/decision/egress.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import { Evaluation } from '../evaluation.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { deny } from '../refusal/deny.ts'
import { refuse } from '../refusal/refuse.ts'

/**
 * Stage for hosts that no connector owns: refuses the request, or lets it pass without decryption and with a record.
 * Later stages govern hosts that a connector owns.
 */
export const route: Stage = {
  name: 'route',
  isQuick: true,
  run(exchange) {
    const { request, snapshot, connector } = exchange
    if (request === undefined || snapshot === undefined)
      throw new Error('the exchange must be parsed before it is routed')
    if (connector !== undefined) return checkTunnel(exchange, connector.entry.tlsMode)
    if (request.host === GATEWAY_HOST) return admitToGateway(exchange)
    const decision = decideUnowned(snapshot, request.host, request.port)
    exchange.evaluation = new Evaluation(decision)
    if (decision.verdict !== 'allow') return deny(exchange, decision, 'unknown_host')
    // A decrypted request to a host without a connector means that the connector was removed while the tunnel was open.
    return exchange.kind !== 'tunnel' && request.scheme === 'https' ? refuseStale(exchange) : 'continue'
  },
}

/** Admits a request that the gateway answers itself. Its host has no certificate, so TLS and unread tunnels are refused. */
function admitToGateway(exchange: Exchange): StageResult {
  const isPlain = exchange.kind === 'http' && exchange.request?.scheme === 'http'
  const verdict = isPlain ? 'allow' : 'deny'
  const reason =
    verdict === 'deny'
      ? `The gateway answers at http://${GATEWAY_HOST}, without TLS.`
      : 'The gateway answers this request itself.'
  const decision = plainDecision(verdict, verdict, reason, 'default')
  exchange.evaluation = new Evaluation(decision)
  return verdict === 'deny' ? deny(exchange, decision, 'unknown_host') : 'continue'
}

/**
 * Refuses a tunnel to a host whose connector has no TLS passthrough: the connector was added while the agent connected.
 */
function checkTunnel(exchange: Exchange, tlsMode: string): StageResult {
  return exchange.kind === 'tunnel' && tlsMode !== 'passthrough' ? refuseStale(exchange) : 'continue'
}

function refuseStale(exchange: Exchange): StageResult {
  const detail = 'The rules for this host changed while the connection was open. Connect again.'
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}
