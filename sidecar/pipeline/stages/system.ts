import { connectorScheme } from '../../../core/connectors/credentials/connector-scheme.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { plainDecision } from '../../../core/decision/egress.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { classifyRefused } from '../classification/classify-refused.ts'
import {
  type HasDecision,
  type HasSnapshot,
  type Received,
  type SystemDecided,
  type SystemExchange,
  type SystemRead,
  setActions,
  setAgent,
  setDecision,
  setSnapshot,
  startEvaluation,
} from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseKilled } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'
import type { StageRunner, Stages } from '../stage-runner.ts'
import type { SystemOrder } from '../system-order.ts'
import { matchingKill } from './guards.ts'
import { createNormalise } from './normalise.ts'

/** Returns the stages before `credential` for requests of the gateway itself. */
export function systemStages(
  ports: PipelinePorts,
  { runner, reader }: { readonly runner: StageRunner; readonly reader: BodyReader },
): Stages<SystemExchange, SystemDecided> {
  return runner
    .first(createSystemIdentify(ports))
    .next(createNormalise<SystemExchange & HasSnapshot>())
    .next(createAuthoriseSystem(ports, reader))
}

/**
 * Creates the stage that loads the snapshot. The agent of a cancellation is the one that started the work, even if it
 * was suspended or deleted since; a credential test has no agent.
 */
function createSystemIdentify(
  ports: Pick<PipelinePorts, 'snapshot'>,
): Stage<SystemExchange, SystemExchange & HasSnapshot> {
  return {
    name: 'identify',
    run(exchange) {
      const { system: order } = exchange
      if (order.kind === 'cancel') setAgent(exchange, order.agent)
      const snapshot = ports.snapshot()
      return snapshot === null ? refuseSystem(exchange, NO_SNAPSHOT) : setSnapshot(exchange, snapshot)
    },
  }
}

/**
 * Creates the stage that replaces kill switch, limits, decision and hold for requests of the gateway itself. Such a
 * request is sent only through the connector that its `SystemOrder` names, with the credential of that connector. A
 * kill switch refuses a credential test. It does not refuse a cancellation, because the kill switch caused the
 * cancellation. A credential test may only send a read.
 */
function createAuthoriseSystem(ports: PipelinePorts, reader: BodyReader): Stage<SystemRead, SystemDecided> {
  return {
    name: 'decide',
    async run(exchange) {
      const { connector, system: order } = exchange
      if (connector?.entry.id !== order.connectorId)
        return refuseSystem(exchange, OTHER_CONNECTOR[order.kind])
      const kill = order.kind === 'cancel' ? null : matchingKill(exchange, ports)
      if (kill !== null) return refuseKilled(exchange, kill)
      if (hasNoCredential(connector)) return refuseSystem(exchange, NO_CREDENTIAL)
      await classifyRefused(exchange, connector, reader)
      return isAllowedBy(order, exchange) ? allow(exchange, order) : refuseSystem(exchange, NO_READ)
    },
  }
}

function allow(exchange: SystemRead, order: SystemOrder): StageResult<SystemRead & HasDecision> {
  exchange.outcome.note = order.kind === 'cancel' ? 'system' : order.kind
  const { named } = exchange
  startEvaluation(exchange)
  if (named !== undefined) setActions(exchange, named)
  return setDecision(exchange, plainDecision('allow', 'allow', reasonOf(order), SOURCE[order.kind]))
}

function hasNoCredential(connector: BoundConnector): boolean {
  return connector.entry.secret === null && connectorScheme(connector).type !== 'none'
}

/**
 * Reports whether the gateway may send the request: any request of a cancellation, but only a read of a credential
 * test.
 */
function isAllowedBy({ kind }: SystemOrder, { actions = [] }: Received): boolean {
  return kind === 'cancel' || (actions.length > 0 && actions.every(({ effect }) => effect === 'read'))
}

const NO_SNAPSHOT = 'The gateway has not received its configuration from the control plane yet.'
const NO_READ = 'The request is not a read, so it does not test a credential.'
const NO_CREDENTIAL = 'The connector has no credential, and the gateway does not store credentials of agents.'
const OTHER_CONNECTOR: Readonly<Record<SystemOrder['kind'], string>> = {
  cancel:
    'The host no longer belongs to the connector through which the work was started, so the cancellation was not sent.',
  credential_test:
    'Another connector has the same host, so the credential of this connector was not tested. Give the host to one connector only.',
}
const SOURCE = { cancel: 'kill', credential_test: 'default' } as const

function reasonOf(order: SystemOrder): string {
  return order.kind === 'cancel'
    ? `Kill switch "${order.scope}" cancels the work that the agent started at the provider.`
    : 'A user tests the credential of the connector.'
}

function refuseSystem(exchange: Received, detail: string): 'responded' {
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}
