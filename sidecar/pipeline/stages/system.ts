import { connectorScheme } from '../../../core/connectors/credentials/connector-scheme.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { plainDecision } from '../../../core/decision/egress.ts'
import { classifyRefused } from '../classification/classify-refused.ts'
import { Evaluation } from '../evaluation.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { matchingKill } from '../kill-switch.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseKilled } from '../refusal/refuse.ts'
import type { SystemOrder } from '../system-order.ts'
import { normalise } from './normalise.ts'

/** Returns the stages before `credential` for requests of the gateway itself. */
export function systemStages(ports: PipelinePorts): readonly Stage[] {
  return [createSystemIdentify(ports), normalise, createAuthoriseSystem(ports)]
}

/**
 * Creates the stage that loads the snapshot. The agent of a cancellation is the one that started the work, even if it was
 * suspended or deleted since; a test of a credential has none.
 */
function createSystemIdentify(ports: Pick<PipelinePorts, 'snapshot'>): Stage {
  return {
    name: 'identify',
    run(exchange) {
      const snapshot = ports.snapshot()
      if (snapshot !== null) exchange.snapshot = snapshot
      const order = orderOf(exchange)
      if (order.kind === 'cancel') exchange.agent = order.agent
      if (snapshot !== null) return 'continue'
      return refuseSystem(
        exchange,
        'The gateway has not received its configuration from the control plane yet.',
      )
    },
  }
}

/**
 * Creates the stage in place of kill switch, limits, decision and hold for requests of the gateway itself. They are sent
 * only through the connector of their order, with its credential. A kill switch causes a cancellation, and stops a test. A
 * test sends nothing but a read.
 */
function createAuthoriseSystem(ports: PipelinePorts): Stage {
  return {
    name: 'decide',
    async run(exchange) {
      const { connector } = exchange
      const order = orderOf(exchange)
      if (connector?.entry.id !== order.connectorId)
        return refuseSystem(exchange, OTHER_CONNECTOR[order.kind])
      const kill = order.kind === 'cancel' ? null : matchingKill(exchange, ports)
      if (kill !== null) return refuseKilled(exchange, kill)
      if (hasNoCredential(connector)) return refuseSystem(exchange, NO_CREDENTIAL)
      await classifyRefused(exchange)
      return isAllowedBy(order, exchange) ? allow(exchange, order) : refuseSystem(exchange, NO_READ)
    },
  }
}

function allow(exchange: Exchange, order: SystemOrder): StageResult {
  const decision = plainDecision('allow', 'allow', reasonOf(order), SOURCE[order.kind])
  exchange.evaluation = new Evaluation(decision, exchange.named)
  exchange.outcome.note = order.kind === 'cancel' ? 'system' : order.kind
  return 'continue'
}

function hasNoCredential(connector: BoundConnector): boolean {
  return connector.entry.secret === null && connectorScheme(connector).type !== 'none'
}

/** Reports whether the request is what the order may send: of a test only a read. */
function isAllowedBy({ kind }: SystemOrder, { actions = [] }: Exchange): boolean {
  return kind === 'cancel' || (actions.length > 0 && actions.every(({ effect }) => effect === 'read'))
}

const NO_READ = 'The request is not a read, so it does not test a credential.'
const NO_CREDENTIAL = 'The connector has no credential, and the gateway does not store credentials of agents.'
const OTHER_CONNECTOR: Readonly<Record<SystemOrder['kind'], string>> = {
  cancel: 'The host does not belong to the connector that started the work.',
  credential_test: 'Another connector owns the host of this connector.',
}
const SOURCE = { cancel: 'kill', credential_test: 'default' } as const

function reasonOf(order: SystemOrder): string {
  return order.kind === 'cancel'
    ? `Kill switch "${order.scope}" cancels the work that the agent started at the provider.`
    : 'A user tests the credential of the connector.'
}

function orderOf({ system }: Exchange): SystemOrder {
  if (system === undefined) throw new Error('the exchange is not an order of the gateway itself')
  return system
}

function refuseSystem(exchange: Exchange, detail: string): StageResult {
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}
