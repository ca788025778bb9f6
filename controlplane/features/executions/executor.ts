import { fingerprintText } from '../../../core/connectors/binding/request-fingerprint.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { sha256Hex } from '../../crypto/sha256.ts'
import type { OrderRelay } from '../../sync/order-relay.ts'
import type { Place } from '../actions/evaluation.ts'
import type { ActionRow } from '../actions/store.ts'
import type { ExecutionPlace } from './place.ts'
import { type Outcome, outcomeOf } from './record.ts'
import { type FindUrlGateway, proxiedHeaders } from './url-gateway.ts'

export type ExecutorDeps = {
  /** To gateways wherever they are connected. */
  readonly relay: Pick<OrderRelay, 'isConnected' | 'execute'>
  /** The address in the settings, when there is one. */
  readonly gatewayUrl: () => Promise<string | null>
  readonly findUrlGateway: FindUrlGateway
}

/** Who carries an action out; chosen while the token is still good. */
export type Executor = {
  /** Null: a gateway at `gateway_url`, whichever that is. */
  readonly gatewayId: string | null
  /** Of the request that is sent, by which a gateway's hold of it is found; null where the order names its action. */
  readonly requestFingerprint: string | null
  /** Once. Null: nothing was sent, so nothing is used up. */
  run(orderId: string): Promise<Outcome | null>
}

export type Job = {
  readonly row: ActionRow
  readonly at: ExecutionPlace
  /** The agent's own key, as it came with the call. */
  readonly agentKey: string
  /** The approval that a person gave for the action. */
  readonly approvalId: string | null
}

/** A connected process of the gateway, else the gateway at `gateway_url`. Throws `not_ready` when there is neither. */
export async function chooseExecutor(deps: ExecutorDeps, job: Job): Promise<Executor> {
  const gateway = capableGateway(job.at.place)
  if (await deps.relay.isConnected(gateway.id)) return byStream(deps, job, gateway)
  const url = await deps.gatewayUrl()
  if (url === null) throw disconnected(gateway)
  return byUrl(deps, job, url)
}

type Chosen = { readonly id: string; readonly name: string }

/** The agent's gateway, if it can do this action. */
function capableGateway({ gateway, connectors, action }: Place): Chosen {
  const known = gateway?.snapshot.gateway
  if (known === undefined) {
    throw unavailable('The agent belongs to no gateway: give it one, then execute again with the same token')
  }
  if (connectors.length > 0) return known
  throw unavailable(
    `The agent's gateway ${known.name} has no connector ${action.connector}: add one, then execute again with the same token`,
  )
}

/** The order travels, not the token. It is never sent a second time. */
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

/** The request itself travels, in the agent's own name: the gateway decides it like any other. */
async function byUrl(
  { findUrlGateway }: ExecutorDeps,
  { at, agentKey }: Job,
  url: string,
): Promise<Executor> {
  const { agent, request: made } = at
  if (made === null) throw new Error('an action without a request has no capable gateway')
  const gateway = await findUrlGateway(url)
  const { request, scheme, canonical } = made
  const { body = '' } = request
  const fingerprint = fingerprintText({
    ...{ agent, connectorType: at.place.action.connector, request: canonical },
    ...{ rawHeaders: proxiedHeaders(request), body: body === '' ? null : sha256Hex(body) },
  })
  return {
    gatewayId: null,
    requestFingerprint: sha256Hex(fingerprint),
    run: () => gateway.send({ agent, agentKey, scheme, request }),
  }
}

function disconnected({ name }: { readonly name: string }): ChaperoneError {
  return unavailable(
    `No process of the gateway ${name} is connected: start it with its enrolment token, then execute again with the same decision token`,
  )
}

export function unavailable(detail: string): ChaperoneError {
  return new ChaperoneError('not_ready', { error: 'No gateway available', detail, retryAfterS: 5 })
}
