import { killReason } from '../../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError, type ErrorCode } from '../../../../core/errors.ts'
import { claimProblem, TOKEN_ERRORS, type TokenClaims, type TokenProblem } from '../../../../core/token.ts'
import type { ApprovalView, DecisionView } from '../../../../core/wire/v1.ts'
import { newId } from '../../../crypto/ids.ts'
import type { Db } from '../../../db/query.ts'
import { approvalView } from '../../approvals/card.ts'
import { getApproval } from '../../approvals/rows.ts'
import type { ActionKillChecks } from '../cancellation/kill-checks.ts'
import { type ActionRow, getAction } from '../rows.ts'
import type { EvaluationDeps } from '../submission/evaluation.ts'
import { releaseNonce, type Spent } from '../tokens/nonce-store.ts'
import type { Tokens } from '../tokens/service.ts'
import { assertMovable, type OwnAction, ownAction } from './action-of-agent.ts'
import { userApproval } from './approval-binding.ts'
import { chooseExecutor, type Executor, type ExecutorDeps, unavailable } from './executor.ts'
import { mcpResult } from './mcp-result.ts'
import { type ExecutionPlaceDeps, executionPlace } from './place.ts'
import { type Executed, type Outcome, recordExecution } from './record.ts'
import { closeExecution, openExecution } from './store.ts'

export type ExecutionDeps = ExecutionPlaceDeps &
  EvaluationDeps &
  ExecutorDeps & {
    readonly db: Db
    readonly orgId: string
    readonly tokens: Tokens
    readonly killChecks: ActionKillChecks
  }

/**
 * Result of an execution. `held`: the gateway holds the request and sent nothing. The decision token is then valid for
 * one more execution after the approval.
 */
export type Execution =
  | { readonly kind: 'done'; readonly status: number; readonly result: unknown }
  | {
      readonly kind: 'held'
      readonly status: ActionRow['status']
      readonly decision: DecisionView
      readonly approval: ApprovalView
    }

/** The decision token of the action, and the API key with which the agent authenticated the call. */
export type ExecutionInput = { readonly token: string; readonly agentKey: string }

/**
 * Executes an allowed action once. The gateway decides the request again like any other request. If the gateway holds
 * the request and the action has no approval, the action becomes pending, and each further execution resolves to `held`
 * until the answer. Errors before the execution, in this order: `not_found`; `validation` when no request can be built
 * from the spec; 403 or 410 for an invalid token; 409 when the token was used or the action is not allowed; 403 under a
 * kill switch; 503 without a gateway. The token remains valid after these errors. Errors of the execution: 403, 502, or
 * 504 without an answer.
 */
export type Execute = (own: OwnAction, given: ExecutionInput) => Promise<Execution>

export function createExecute(deps: ExecutionDeps): Execute {
  const { db } = deps
  return async (own, { token, agentKey }) => {
    const row = await ownAction(() => getAction(db, own.id), own)
    const at = await executionPlace(deps, row)
    const { jti } = await checkedClaims(deps, row, token)
    if (isHeld(row, jti)) return heldExecution(deps, row)
    assertExecutable(deps, row)
    const approvalId = await userApproval(deps, row)
    const executor = await chooseExecutor(deps, { row, at, agentKey, approvalId })
    const orderId = await open(deps, executor, { jti, actId: row.id, approvalId })
    if (orderId === null) return heldExecution(deps, row)
    const outcome = await run(executor, orderId)
    if (outcome === null) throw await giveBack(deps, orderId, jti)
    if (!outcome.isDone && (await wasHeld(deps, row))) return heldExecution(deps, row)
    const executed = { ...outcome, orderId, gatewayId: executor.gatewayId }
    const action = { ...row, type: row.spec.type }
    await db.tx((q) => recordExecution(q, action, executed))
    return answer({ ...executed, result: mcpResult(action.type, executed.result) })
  }
}

type Opening = { readonly jti: string; readonly actId: string; readonly approvalId: string | null }

/**
 * Stores the execution and then uses the decision token, so that a crash of the replica leaves a row. Returns null when
 * another execution with the same token is held. Throws when the token was used or has expired.
 */
async function open(
  { db, tokens }: ExecutionDeps,
  { gatewayId, requestFingerprint }: Executor,
  { jti, actId, approvalId }: Opening,
): Promise<string | null> {
  const orderId = newId('order')
  await openExecution(db, { orderId, actId, gatewayId, requestFingerprint, approvalId })
  const spent = await tokens.spend({ jti, actId, usedBy: 'execute' })
  if (spent === 'spent') return orderId
  await closeExecution(db, orderId)
  const now = await getAction(db, actId)
  if (now !== undefined && isHeld(now, jti)) return null
  throw tokenError(PROBLEM[spent])
}

/** Reports whether the action is pending because an execution with this token opened an approval. */
function isHeld({ status, jti, approvalId }: ActionRow, token: string): boolean {
  return status === 'pending_approval' && jti === token && approvalId !== null
}

/** Reports whether a hold of the gateway opened a new approval of the action during the execution. */
async function wasHeld({ db }: ExecutionDeps, row: ActionRow): Promise<boolean> {
  const now = await getAction(db, row.id)
  return now !== undefined && now.approvalId !== null && now.approvalId !== row.approvalId
}

/**
 * Returns the current state of a held execution, because an approver may have answered already. Throws 410 after the
 * expiry of the approval, even before the sweeper stores the expiry.
 */
async function heldExecution({ db }: ExecutionDeps, { id }: ActionRow): Promise<Execution> {
  const now = await getAction(db, id)
  const approval = now?.approvalId == null ? undefined : await getApproval(db, now.approvalId)
  if (now === undefined || approval === undefined) throw new Error('a held action has an approval')
  if (now.status === 'pending_approval' && approval.isOverdue) throw tokenError('expired')
  return { kind: 'held', status: now.status, decision: now.decision, approval: approvalView(approval) }
}

async function run(executor: Executor, orderId: string): Promise<Outcome | null> {
  try {
    return await executor.run(orderId)
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return { isDone: false, status: null, result: null, error: error.message, code: error.code }
  }
}

/**
 * Releases the nonce of the decision token. Called when the gateway disconnected and had not received the execution
 * order. Returns the error for the caller.
 */
async function giveBack({ db }: ExecutionDeps, orderId: string, jti: string): Promise<ChaperoneError> {
  await db.tx(async (q) => {
    await releaseNonce(q, jti)
    await closeExecution(q, orderId)
  })
  return unavailable(
    'The gateway disconnected before the action was sent. Execute again with the same decision token.',
  )
}

function assertExecutable({ killChecks }: ExecutionDeps, row: ActionRow): void {
  if (row.isExpired || row.jti === null) throw tokenError('expired')
  if (row.usedBy === 'verify' || row.usedBy === 'execute') throw tokenError('used')
  assertMovable(row, 'execute')
  const entry = killChecks.of(row)
  if (entry !== null) throw killError(killReason(entry))
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

function answer({ isDone, status, result, error, code }: Executed): Execution {
  if (isDone && status !== null) return { kind: 'done', status, result }
  throw new ChaperoneError(code ?? 'upstream_failed', {
    error: `Execution failed: ${error}`,
    detail: 'The decision token is used, and the action is not sent again. Submit a new action to try again.',
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

/**
 * Returns the error for a token problem in the form of spec 7.6, for example `Token verification failed: nonce already
 * used`.
 */
function tokenError(problem: TokenProblem): ChaperoneError {
  const text = TOKEN_ERRORS[problem]
  const error = `Token verification failed: ${text.charAt(0).toLowerCase()}${text.slice(1)}`
  return new ChaperoneError(CODE[problem], { error, detail: error })
}

function killError(reason: string): ChaperoneError {
  return new ChaperoneError('kill_switch', { error: reason, detail: reason })
}
