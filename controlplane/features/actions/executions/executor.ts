import { fingerprintText } from '../../../../core/connectors/binding/request-fingerprint.ts'
import type { ExecuteRequest } from '../../../../core/connectors/connector.ts'
import { stripBodyFields } from '../../../../core/connectors/credentials/credentials.ts'
import { connectorOfType } from '../../../../core/connectors/registry.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { headerValue } from '../../../../core/request/headers/headers.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { OrderRelay } from '../../../sync/orders/relay.ts'
import type { ActionRow } from '../rows.ts'
import type { Place } from '../submission/evaluation.ts'
import type { ExecutionPlace } from './place.ts'
import { type Outcome, outcomeOf } from './record.ts'
import { type FindUrlGateway, proxiedHeaders } from './url-gateway.ts'

export type ExecutorDeps = {
  /**
   * Sends execution orders to gateways that are connected to any replica. An execution order instructs a gateway to
   * execute one action.
   */
  readonly relay: Pick<OrderRelay, 'isConnected' | 'execute'>
  /** Returns the setting `gateway_url`; null when it is not set. */
  readonly gatewayUrl: () => Promise<string | null>
  readonly findUrlGateway: FindUrlGateway
}

/**
 * Executes one action. The executor must be chosen before the decision token is used, so that a missing gateway leaves
 * the token unused.
 */
export type Executor = {
  /** Id of the executing gateway. Null for the gateway at the setting `gateway_url`, whose id is unknown. */
  readonly gatewayId: string | null
  /**
   * Fingerprint of the request that the gateway receives. `findExecution` finds the execution of a held request by
   * this fingerprint. Null when the gateway executes an execution order, because the order contains the id of the
   * action.
   */
  readonly requestFingerprint: string | null
  /**
   * Executes the action. Must be called at most once. Resolves to null when nothing was sent; the decision token is
   * then valid for another attempt.
   */
  run(orderId: string): Promise<Outcome | null>
}

export type Job = {
  readonly row: ActionRow
  readonly at: ExecutionPlace
  /** API key of the agent, as received with the call. */
  readonly agentKey: string
  /** Id of the approval of the action; null when rules alone allowed the action. */
  readonly approvalId: string | null
}

/**
 * Chooses a connected process of the agent's gateway, otherwise the gateway at the setting `gateway_url`. Throws
 * `not_ready` when neither is available.
 */
export async function chooseExecutor(deps: ExecutorDeps, job: Job): Promise<Executor> {
  const gateway = capableGateway(job.at.place)
  if (await deps.relay.isConnected(gateway.id)) return byStream(deps, job, gateway)
  const url = await deps.gatewayUrl()
  if (url === null) throw disconnected(gateway)
  return byUrl(deps, job, url)
}

type Chosen = { readonly id: string; readonly name: string }

/**
 * Removes the fields of the body that may carry a credential of the agent. The gateway removes these fields as well,
 * and computes the request fingerprint of the body without them. Does not change a body that the gateway would
 * refuse, for example a malformed body.
 */
function withoutCredential(request: ExecuteRequest, connector: string): ExecuteRequest {
  const { body, headers } = request
  if (body === undefined) return request
  const { bodyFields } = connectorOfType(connector).carriers
  const stripped = stripBodyFields(Buffer.from(body), headerValue(headers, 'content-type'), bodyFields)
  return isRefusal(stripped) || !stripped.removed
    ? request
    : { ...request, body: Buffer.from(stripped.bytes).toString('utf8') }
}

/**
 * Returns the agent's gateway. Throws `not_ready` when the agent has no gateway, or when the gateway has no connector
 * for the action.
 */
function capableGateway({ gateway, connectors, action }: Place): Chosen {
  const known = gateway?.snapshot.gateway
  if (known === undefined) {
    throw unavailable(
      'The agent has no gateway. Assign the agent to a gateway, then execute again with the same decision token.',
    )
  }
  if (connectors.length > 0) return known
  throw unavailable(
    `The agent's gateway ${known.name} has no connector ${action.connector}. Add the connector, then execute again with the same decision token.`,
  )
}

/**
 * Creates an executor that sends an execution order on the stream of a gateway process. The order contains no
 * decision token and is sent at most once.
 */
function byStream({ relay }: ExecutorDeps, { row, at, approvalId }: Job, gateway: Chosen): Executor {
  const sent = {
    action_request_id: row.id,
    agent: at.agent,
    action_spec: { ...row.spec },
    approval_id: approvalId,
  }
  return {
    gatewayId: gateway.id,
    requestFingerprint: null,
    async run(orderId) {
      const result = await relay.execute(gateway.id, { order_id: orderId, ...sent })
      return result === null ? null : outcomeOf(result)
    },
  }
}

/**
 * Creates an executor that sends the request through the proxy of the gateway with the key of the agent. The gateway
 * decides the request like any other request of the agent.
 */
async function byUrl(
  { findUrlGateway }: ExecutorDeps,
  { at, agentKey }: Job,
  url: string,
): Promise<Executor> {
  const { agent, request: made } = at
  if (made === null)
    throw new Error('the action has no HTTP request, so only a connected gateway could execute it')
  const gateway = await findUrlGateway(url)
  const { scheme, canonical } = made
  const request = withoutCredential(made.request, at.place.action.connector)
  const { body = '' } = request
  const fingerprint = fingerprintText({
    agent,
    connectorType: at.place.action.connector,
    request: canonical,
    rawHeaders: proxiedHeaders(request),
    body: body === '' ? null : sha256Hex(body),
  })
  return {
    gatewayId: null,
    requestFingerprint: sha256Hex(fingerprint),
    run: () => gateway.send({ agent, agentKey, scheme, request }),
  }
}

function disconnected({ name }: { readonly name: string }): ChaperoneError {
  return unavailable(
    `No process of the gateway ${name} is connected. Start one with the enrolment token, then execute again with the same decision token.`,
  )
}

export function unavailable(detail: string): ChaperoneError {
  return new ChaperoneError('not_ready', { error: 'No gateway available', detail, retryAfterS: 5 })
}
