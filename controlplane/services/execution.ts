import type { ActionSpec } from '../../core/action/spec.ts'
import { killReason } from '../../core/decision/kill-switch.ts'
import { ChaperoneError, type ErrorCode } from '../../core/errors.ts'
import { isRefusal } from '../../core/request/canonical.ts'
import { claimProblem, TOKEN_ERRORS, type TokenClaims, type TokenProblem } from '../../core/token.ts'
import { newId } from '../crypto/ids.ts'
import { validationError } from '../http/input.ts'
import { type ActionRow, getAction } from '../store/actions.ts'
import { closeExecution, openExecution } from '../store/executions.ts'
import { releaseNonce, type Spent } from '../store/nonces.ts'
import type { Db } from '../store/query.ts'
import type { OrderRelay } from '../sync/order-relay.ts'
import { type EvaluationDeps, type Place, placeOf } from './action-evaluation.ts'
import type { ActionRulesSource } from './action-rules.ts'
import type { ActionStops } from './action-stops.ts'
import { type Executed, outcomeOf, recordExecution } from './execution-record.ts'
import { assertMovable, type OwnAction, ownAction } from './own-action.ts'
import type { Tokens } from './tokens.ts'

export type ExecutionDeps = Pick<EvaluationDeps, 'knownAction'> & {
  readonly db: Db
  readonly orgId: string
  readonly rules: ActionRulesSource
  readonly tokens: Tokens
  readonly stops: ActionStops
  /** To gateways wherever they are connected. */
  readonly relay: Pick<OrderRelay, 'isConnected' | 'execute'>
  /** The address in the settings, when there is one. */
  readonly gatewayUrl: () => Promise<string | null>
}

export type GatewayResponse = { readonly status: number; readonly result: unknown }

/**
 * Carries an allowed action out, once. Throws, in this order: `not_found`; `validation` when no request can be made of
 * the spec; 403 or 410 for the token; 409 when it was used or the action is not allowed; 403 under a kill switch; 503
 * without a gateway. Up to here the token stays good. Then what the gateway says: 403, 502, or 504 when it says nothing.
 */
export type Execute = (own: OwnAction, token: string) => Promise<GatewayResponse>

export function createExecute(deps: ExecutionDeps): Execute {
  const { db, tokens } = deps
  return async (own, token) => {
    const row = await ownAction(() => getAction(db, own.id), own)
    const { place, agent } = await agentPlace(deps, row)
    assertRequestable(place, row.spec)
    const { jti } = await checkedClaims(deps, row, token)
    assertExecutable(deps, row)
    const gateway = chooseGateway(place)
    if (!(await deps.relay.isConnected(gateway.id))) throw await disconnected(deps, gateway)
    const open = { orderId: newId('order'), actId: row.id, gatewayId: gateway.id }
    // Before the token is used: a replica that dies after that leaves a trace of it.
    await openExecution(db, open)
    const spent = await tokens.spend({ jti, actId: row.id, usedBy: 'execute' })
    if (spent !== 'spent') {
      await closeExecution(db, open.orderId)
      throw tokenError(PROBLEM[spent])
    }
    const executed = await order(deps, { gateway, row, agent, jti, orderId: open.orderId })
    const action = { ...row, type: row.spec.type }
    await db.tx((q) => recordExecution(q, action, executed))
    return answer(executed)
  }
}

function assertExecutable({ stops }: ExecutionDeps, row: ActionRow): void {
  if (row.isExpired || row.jti === null) throw tokenError('expired')
  if (row.usedBy === 'verify' || row.usedBy === 'execute') throw tokenError('used')
  assertMovable(row, 'execute')
  const entry = stops.of(row)
  if (entry !== null) throw stopped(killReason(entry))
}

/** By the newest rules: a connector that was added a moment ago counts. The agent by the name it has now. */
async function agentPlace(
  deps: Pick<ExecutionDeps, 'knownAction' | 'rules'>,
  row: ActionRow,
): Promise<{ readonly place: Place; readonly agent: string }> {
  const rules = await deps.rules.fresh()
  const agent = rules.agent(row.agentId)
  if (agent === undefined) throw new ChaperoneError('unauthorized', { detail: 'This agent is gone' })
  return { place: placeOf(deps, rules, agent, row.spec), agent: agent.name }
}

/** Said before the token is touched: what is missing can only be put right by a new submission. */
function assertRequestable({ action, bound }: Place, spec: ActionSpec): void {
  if (action.connector === 'codehost' && action.resource.target === undefined) {
    throw validationError([
      'action_spec.resource.target: is required to execute, as <owner>/<repo> (or organization and repository)',
    ])
  }
  if (bound === null) return
  if (bound.connector.toRequest === undefined) {
    throw validationError([
      `action_spec.type: the connector ${action.connector} makes no requests from actions`,
    ])
  }
  const request = bound.connector.toRequest(executeSpec(action, spec), bound.config)
  if (isRefusal(request)) throw validationError([request.detail])
}

function executeSpec({ connector, resource, parameters }: Place['action'], { type }: ActionSpec) {
  return { type, parameters, resource: { ...resource, provider: connector } }
}

async function checkedClaims(
  { tokens, orgId }: ExecutionDeps,
  row: ActionRow,
  token: string,
): Promise<TokenClaims> {
  const read = await tokens.read(token)
  if (typeof read === 'string') throw tokenError(read)
  const wanted = { org: orgId, act: row.id, sub: row.agentId, ash: tokens.ashOf(row.spec) }
  const problem = claimProblem(read, wanted)
  if (problem !== null) throw tokenError(problem)
  return read
}

/** The agent's own gateway, if it can do this action. */
function chooseGateway({ gateway, bound, action }: Place): Chosen {
  const known = gateway?.snapshot.gateway
  if (known === undefined) {
    throw unavailable('The agent belongs to no gateway: give it one, then execute again with the same token')
  }
  if (bound !== null) return known
  throw unavailable(
    `The agent's gateway ${known.name} has no connector ${action.connector}: add one, then execute again with the same token`,
  )
}

type Chosen = { readonly id: string; readonly name: string }

async function disconnected({ gatewayUrl }: ExecutionDeps, { name }: Chosen): Promise<ChaperoneError> {
  const url = await gatewayUrl()
  const also =
    url === null ? '' : `, and the internal API at gateway_url (${url}) has no path to execute actions`
  return unavailable(
    `No process of the gateway ${name} is connected${also}: start it with its enrolment token, then execute again with the same decision token`,
  )
}

type Order = {
  readonly gateway: Chosen
  readonly row: ActionRow
  readonly agent: string
  readonly jti: string
  readonly orderId: string
}

/** The order travels, not the token. It is never sent a second time. */
async function order(deps: ExecutionDeps, { gateway, row, agent, jti, orderId }: Order): Promise<Executed> {
  const base = { orderId, gatewayId: gateway.id }
  const sent = { action_request_id: row.id, agent, action_spec: { ...row.spec } }
  try {
    const result = await deps.relay.execute(gateway.id, { order_id: base.orderId, ...sent })
    if (result !== null) return { ...base, ...outcomeOf(result) }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return { ...base, isDone: false, status: null, result: null, error: error.message, code: error.code }
  }
  // It left between the look and the order: nothing was sent, so nothing is used up.
  await deps.db.tx(async (q) => {
    await releaseNonce(q, jti)
    await closeExecution(q, orderId)
  })
  throw await disconnected(deps, gateway)
}

function answer({ isDone, status, result, error, code }: Executed): GatewayResponse {
  if (isDone && status !== null) return { status, result }
  throw new ChaperoneError(code ?? 'upstream_failed', {
    error: `Execution failed: ${error}`,
    detail:
      'The token is used up and the action is never sent again: submit a new one if it should still happen',
  })
}

const PROBLEM: Readonly<Record<Exclude<Spent, 'spent'>, TokenProblem>> = {
  used: 'used',
  expired: 'expired',
  unknown: 'expired',
}

const CODE: Readonly<Record<TokenProblem, ErrorCode>> = {
  malformed: 'forbidden',
  signature: 'forbidden',
  mismatch: 'forbidden',
  expired: 'gone',
  used: 'conflict',
}

/** `Token verification failed: nonce already used` (spec 7.6) and its like. */
function tokenError(problem: TokenProblem): ChaperoneError {
  const text = TOKEN_ERRORS[problem]
  const error = `Token verification failed: ${text.charAt(0).toLowerCase()}${text.slice(1)}`
  return new ChaperoneError(CODE[problem], { error, detail: error })
}

function stopped(reason: string): ChaperoneError {
  return new ChaperoneError('kill_switch', { error: reason, detail: reason })
}

function unavailable(detail: string): ChaperoneError {
  return new ChaperoneError('not_ready', { error: 'No gateway available', detail, retryAfterS: 5 })
}
