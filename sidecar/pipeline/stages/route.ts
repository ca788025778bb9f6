import { decideUnowned, plainDecision } from '../../../core/decision/egress.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import {
  type Governed,
  type Read,
  type ReadUnowned,
  type Received,
  type Routed,
  setDecision,
  startEvaluation,
  type Unowned,
} from '../phases.ts'
import { deny } from '../refusal/deny.ts'
import { refuse } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'

/**
 * Stage for hosts that no connector owns: refuses the request, or lets it pass without decryption and with a record.
 * Later stages govern hosts that a connector owns.
 */
export const route: Stage<Read, Routed> = {
  name: 'route',
  isQuick: true,
  run(exchange) {
    if (exchange.connector !== undefined) return checkTunnel(exchange)
    const { request, snapshot } = exchange
    if (request.host === GATEWAY_HOST) return admitToGateway(exchange)
    const decision = decideUnowned(snapshot, request.host, request.port)
    startEvaluation(exchange)
    const decided = setDecision(exchange, decision)
    if (decision.verdict !== 'allow') return deny(exchange, decision, 'unknown_host')
    // A decrypted request to a host without a connector means that the connector was removed while the tunnel was open.
    return exchange.kind !== 'tunnel' && request.scheme === 'https' ? refuseStale(exchange) : decided
  },
}

/**
 * Admits a request that the gateway answers itself. The gateway's own host has no certificate, so TLS and tunnels are
 * refused.
 */
function admitToGateway(exchange: ReadUnowned): StageResult<Unowned> {
  const isPlain = exchange.kind === 'http' && exchange.request.scheme === 'http'
  const verdict = isPlain ? 'allow' : 'deny'
  const reason =
    verdict === 'deny'
      ? `This host is the gateway itself, which answers only at http://${GATEWAY_HOST}, without TLS.`
      : 'The gateway answers this request itself.'
  const decision = plainDecision(verdict, verdict, reason, 'default')
  startEvaluation(exchange)
  const decided = setDecision(exchange, decision)
  return verdict === 'deny' ? deny(exchange, decision, 'unknown_host') : decided
}

/**
 * Refuses a tunnel to a host whose connector has no TLS passthrough: the connector was added while the agent connected.
 */
function checkTunnel(exchange: Governed): StageResult<Governed> {
  const { tlsMode } = exchange.connector.entry
  return exchange.kind === 'tunnel' && tlsMode !== 'passthrough' ? refuseStale(exchange) : exchange
}

function refuseStale(exchange: Received): 'responded' {
  const detail = 'The rules for this host changed while the connection was open. Connect again.'
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}
