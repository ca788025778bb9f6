import { killReason } from '../../core/decision/kill-switch.ts'
import { ChaperoneError, type ErrorCode } from '../../core/errors.ts'
import { claimProblem, TOKEN_ERRORS, type TokenClaims, type TokenProblem } from '../../core/token.ts'
import { newId } from '../crypto/ids.ts'
import { type ActionRow, getAction } from '../store/actions.ts'
import { closeExecution, openExecution } from '../store/executions.ts'
import { releaseNonce, type Spent } from '../store/nonces.ts'
import type { ActionStops } from './action-stops.ts'
import { type ExecutionPlaceDeps, executionPlace } from './execution-place.ts'
import { type Executed, type Outcome, recordExecution } from './execution-record.ts'
import { chooseExecutor, type Executor, type ExecutorDeps, unavailable } from './executor.ts'
import { mcpResult } from './mcp-result.ts'
import { assertMovable, type OwnAction, ownAction } from './own-action.ts'
import type { Tokens } from './tokens.ts'

export type ExecutionDeps = ExecutionPlaceDeps &
  ExecutorDeps & {
    readonly orgId: string
    readonly tokens: Tokens
    readonly stops: ActionStops
  }

export type GatewayResponse = { readonly status: number; readonly result: unknown }

/** What an agent gives: the decision token, and the key that the call itself came with. */
export type ExecutionInput = { readonly token: string; readonly agentKey: string }

/**
 * Carries an allowed action out, once. Throws, in this order: `not_found`; `validation` when no request can be made of
 * the spec; 403 or 410 for the token; 409 when it was used or the action is not allowed; 403 under a kill switch; 503
 * without a gateway. Up to here the token stays good. Then what the gateway says: 403, 502, or 504 when it says nothing.
 */
export type Execute = (own: OwnAction, given: ExecutionInput) => Promise<GatewayResponse>

export function createExecute(deps: ExecutionDeps): Execute {
  const { db } = deps
  return async (own, { token, agentKey }) => {
    const row = await ownAction(() => getAction(db, own.id), own)
    const at = await executionPlace(deps, row)
    const { jti } = await checkedClaims(deps, row, token)
    assertExecutable(deps, row)
    const executor = await chooseExecutor(deps, { row, at, agentKey })
    const orderId = await open(deps, executor, { jti, actId: row.id })
    const outcome = await run(executor, orderId)
    if (outcome === null) throw await giveBack(deps, orderId, jti)
    const executed = { ...outcome, orderId, gatewayId: executor.gatewayId }
    const action = { ...row, type: row.spec.type }
    await db.tx((q) => recordExecution(q, action, executed))
    return answer({ ...executed, result: mcpResult(action.type, executed.result) })
  }
}

/** Uses the token up. Before that the attempt is written down: a replica that dies afterwards leaves a trace of it. */
async function open(
  { db, tokens }: ExecutionDeps,
  { gatewayId, pass }: Executor,
  { jti, actId }: { readonly jti: string; readonly actId: string },
): Promise<string> {
  const orderId = newId('order')
  await openExecution(db, { orderId, actId, gatewayId, pass })
  const spent = await tokens.spend({ jti, actId, usedBy: 'execute' })
  if (spent === 'spent') return orderId
  await closeExecution(db, orderId)
  throw tokenError(PROBLEM[spent])
}

async function run(executor: Executor, orderId: string): Promise<Outcome | null> {
  try {
    return await executor.run(orderId)
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return { isDone: false, status: null, result: null, error: error.message, code: error.code }
  }
}

/** The gateway left between the look and the order: nothing was sent, so nothing is used up. */
async function giveBack({ db }: ExecutionDeps, orderId: string, jti: string): Promise<ChaperoneError> {
  await db.tx(async (q) => {
    await releaseNonce(q, jti)
    await closeExecution(q, orderId)
  })
  return unavailable('The gateway went away a moment ago: execute again with the same decision token')
}

function assertExecutable({ stops }: ExecutionDeps, row: ActionRow): void {
  if (row.isExpired || row.jti === null) throw tokenError('expired')
  if (row.usedBy === 'verify' || row.usedBy === 'execute') throw tokenError('used')
  assertMovable(row, 'execute')
  const entry = stops.of(row)
  if (entry !== null) throw stopped(killReason(entry))
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
