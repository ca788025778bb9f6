import { plainDecision } from '../../../core/decision/egress.ts'
import { classifyRefused } from '../classification/classify-refused.ts'
import { Evaluation } from '../evaluation.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { connectorScheme } from '../outgoing.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse } from '../refusal/refuse.ts'
import type { SystemOrder } from '../system-order.ts'
import { normalise } from './normalise.ts'

/** Returns the stages before `credential` for requests that the gateway itself sends because of a kill switch. */
export function systemStages(ports: Pick<PipelinePorts, 'snapshot'>): readonly Stage[] {
  return [createSystemIdentify(ports), normalise, authoriseSystem]
}

/**
 * Creates the stage that loads the snapshot. The agent of the exchange is the one that started the work, even if it was
 * suspended or deleted since.
 */
function createSystemIdentify(ports: Pick<PipelinePorts, 'snapshot'>): Stage {
  return {
    name: 'identify',
    run(exchange) {
      const snapshot = ports.snapshot()
      if (snapshot !== null) exchange.snapshot = snapshot
      exchange.agent = orderOf(exchange).agent
      if (snapshot !== null) return 'continue'
      return refuseSystem(
        exchange,
        'The gateway has not received its configuration from the control plane yet.',
      )
    },
  }
}

/**
 * Stage in place of kill switch, limits, decision and hold for requests that the gateway itself sends because of a kill
 * switch. These requests are sent only through the connector that started the work, with the credential of that
 * connector.
 */
const authoriseSystem: Stage = {
  name: 'decide',
  async run(exchange) {
    const { connector } = exchange
    const { connectorId, scope } = orderOf(exchange)
    if (connector?.entry.id !== connectorId)
      return refuseSystem(exchange, 'The host does not belong to the connector that started the work.')
    if (connector.entry.secret === null && connectorScheme(connector).type !== 'none')
      return refuseSystem(
        exchange,
        'The connector has no credential, and the gateway does not store credentials of agents.',
      )
    await classifyRefused(exchange)
    const reason = `Kill switch "${scope}" cancels the work that the agent started at the provider.`
    const { named } = exchange
    exchange.evaluation = new Evaluation(plainDecision('allow', 'allow', reason, 'kill'), named)
    exchange.outcome.note = 'system'
    return 'continue'
  },
}

function orderOf({ system }: Exchange): SystemOrder {
  if (system === undefined) throw new Error('the exchange is not an order of the gateway itself')
  return system
}

function refuseSystem(exchange: Exchange, detail: string): StageResult {
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}
