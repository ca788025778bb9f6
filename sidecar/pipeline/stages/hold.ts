import { isGrpc } from '../../../core/request/grpc.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { bindingOf, boundRequest } from '../approval/binding.ts'
import { completeRequest } from '../approval/complete-request.ts'
import { describeHold } from '../approval/hold-card.ts'
import { changedState, readPins } from '../approval/pins.ts'
import { hasReadableBody, judgeHiddenFacts } from '../body/body-facts.ts'
import { bodyHash, hashBody } from '../body/body-hash.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { tooLongToHold } from '../body/too-large.ts'
import { judgeUnread, staysUnread } from '../body/unread-body.ts'
import { primaryType } from '../classification/primary-action.ts'
import { refuseExpired } from '../credentials/minted-secret.ts'
import { prepareToken, sendProblem } from '../credentials/narrowed-token.ts'
import { abortReason } from '../exchange-abort.ts'
import type { Pacer } from '../pacer.ts'
import type { Decided, Evaluated, Received } from '../phases.ts'
import type { HoldOutcome, PipelinePorts } from '../ports.ts'
import { refuse, refuseReading } from '../refusal/refuse.ts'
import { replyWithEvents } from '../response/held-events.ts'
import type { Eventual, Stage, StageResult } from '../stage.ts'
import type { Evaluations } from './evaluate.ts'

/**
 * Maximum number of approvals for one request. Rules may change while the request is held. Beyond the maximum the agent
 * must send the request again.
 */
const MAX_ROUNDS = 3

/**
 * Time in milliseconds to wait for the end of a gRPC request body. A unary call ends immediately; the body of any other
 * call stays open as long as its client sends.
 */
const OPEN_AFTER_MS = 1_000

/**
 * Creates the stage that waits for an approver. The request is evaluated again after its body was read, and under the
 * current rules after an approval: a deny takes precedence, and the approval is void when the rules to which it was
 * bound have changed.
 */
export function createHold(
  ports: PipelinePorts,
  bodies: HoldBodies,
  evaluation: Evaluations,
): Stage<Evaluated, Evaluated> {
  return {
    name: 'hold',
    isQuick: true,
    run: (exchange) => (isHeld(exchange) ? hold(exchange, { ports, bodies, evaluation }) : exchange),
  }
}

/** Reader and pacer of held bodies. */
export type HoldBodies = { readonly reader: BodyReader; readonly pacer: Pacer }

type Holding = {
  readonly ports: PipelinePorts
  readonly bodies: HoldBodies
  readonly evaluation: Evaluations
}

async function hold(
  exchange: Decided,
  { ports, bodies, evaluation }: Holding,
): Promise<StageResult<Evaluated>> {
  const read = await readWhole(exchange, bodies.reader, evaluation)
  if (read === 'responded' || !isHeld(read)) return read
  await hashBody(read, bodies.pacer)
  const events = replyWithEvents(read, ports)
  try {
    const result = await holdUntilSettled(read, ports, evaluation)
    // An event stream may have set status 200 for the record. The status of the upstream replaces it.
    if (result !== 'responded') exchange.outcome.status = null
    return result
  } finally {
    events?.released()
  }
}

async function holdUntilSettled(
  exchange: Decided,
  ports: PipelinePorts,
  evaluation: Evaluations,
): Promise<StageResult<Evaluated>> {
  let held = exchange
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const unread = judgeUnread(held)
    if (unread !== null) return refuseReading(held, unread)
    const result = await holdOnce(held, ports, evaluation)
    if (result === 'responded' || result.kind === 'released')
      return result === 'responded' ? result : result.exchange
    held = result.exchange
  }
  return refuseRestless(exchange)
}

/** `changed`: the rules have changed since the approval, and hold the request again. */
type Held =
  | { readonly kind: 'released'; readonly exchange: Evaluated }
  | { readonly kind: 'changed'; readonly exchange: Decided }

async function holdOnce(
  exchange: Decided,
  ports: PipelinePorts,
  { renew }: Evaluations,
): Promise<StageResult<Held>> {
  const bodySha256 = exchange.bodyBytes === undefined ? null : bodyHash(exchange.bodyBytes)
  const bound = boundRequest(exchange)
  const pins = await readPins(exchange, ports)
  const binding = bindingOf(exchange, bound, pins)
  const outcome = await ask(exchange, ports, describeHold(exchange, { binding, bound, bodySha256, pins }))
  if (outcome.kind !== 'approved') return refuseUnapproved(exchange, outcome)
  const renewed = await renew(exchange)
  if (renewed === 'responded') return 'responded'
  exchange.approvalId = outcome.approvalId
  if (isHeld(renewed) && bindingOf(renewed, boundRequest(renewed), pins) !== binding)
    return { kind: 'changed', exchange: renewed }
  const changed = changedState(pins, await readPins(renewed, ports))
  if (changed !== null) return refuseVoid(exchange, outcome.approvalId, changed)
  exchange.completedWith = completeRequest(renewed, pins)
  return { kind: 'released', exchange: renewed }
}

/**
 * Refuses a request because its approved state changed. The approval is spent, so that it releases no request when the
 * old state returns.
 */
function refuseVoid(exchange: Received, approvalId: string, changed: string): 'responded' {
  const detail = `${changed} The approval is void, and nothing was sent. Send the request again to request approval of the present state.`
  const extra = {
    approval_id: approvalId,
    decision: 'deny',
    action_type: primaryType(exchange),
    reason: detail,
  }
  return refuse(exchange, {
    code: 'approval_void',
    reason: 'approval_void',
    detail,
    reference: approvalId,
    extra,
  })
}

function isHeld(exchange: Evaluated): exchange is Decided {
  return exchange.connector !== undefined && exchange.decision.verdict === 'hold'
}

/**
 * Reads a held body completely, because the approval is for exactly these bytes and the approver sees their fields. A
 * gRPC client may wait for responses before it sends more. A gRPC call whose bodies are declared opaque is therefore
 * held without the rest of its body, like a WebSocket upgrade. The card states that the request has not ended, and the
 * received messages stay in the buffer.
 */
async function readWhole(
  exchange: Decided,
  reader: BodyReader,
  { evaluate }: Evaluations,
): Promise<StageResult<Evaluated>> {
  if (exchange.body.isEmpty) return exchange
  const isOpaque = staysUnread(exchange)
  if (exchange.bodyBytes !== undefined) return isOpaque ? exchange : nameRead(exchange, evaluate)
  const hidden = isOpaque ? null : (judgeHiddenFacts(exchange) ?? judgeUnread(exchange))
  if (hidden !== null) return refuseReading(exchange, hidden)
  if (await goesOn(exchange)) {
    exchange.isOpenEnded = true
    return exchange
  }
  const bytes = await reader.read(exchange, LIMITS.heldBodyBytes)
  if (bytes === null) return refuseReading(exchange, tooLongToHold(exchange, LIMITS.heldBodyBytes))
  return isOpaque ? exchange : nameAnew(exchange, evaluate)
}

async function goesOn({ raw, body }: Received): Promise<boolean> {
  return isGrpc(raw.rawHeaders) && !(await body.endsWithin(OPEN_AFTER_MS, LIMITS.heldBodyBytes))
}

/**
 * Classifies the request again if the stage `override` has read its body: until then the request was classified by its
 * request line alone.
 */
function nameRead(exchange: Decided, evaluate: Evaluations['evaluate']): Eventual<Evaluated> {
  return exchange.provisional === undefined ? exchange : nameAnew(exchange, evaluate)
}

function nameAnew(exchange: Decided, evaluate: Evaluations['evaluate']): Eventual<Evaluated> {
  return hasReadableBody(exchange) ? evaluate(exchange) : exchange
}

async function ask(exchange: Decided, ports: PipelinePorts, card: HoldBody): Promise<HoldOutcome> {
  const since = ports.clock.monotonicMs()
  exchange.isWaiting = true
  try {
    const problem = () => sendProblem(exchange, ports)
    const prepare = () => prepareToken(exchange, ports)
    const outcome = await ports.holds.wait(card, exchange.abort.signal, problem, prepare)
    exchange.isWaiting = outcome.kind === 'aborted' || outcome.kind === 'deferred'
    if (outcome.approvalId !== null) exchange.holdId = outcome.approvalId
    return outcome
  } finally {
    exchange.outcome.heldMs += ports.clock.monotonicMs() - since
  }
}

function refuseRestless(exchange: Received): 'responded' {
  const detail =
    'The rules for this request changed repeatedly while the request was held. Send the request again.'
  return refuse(exchange, { code: 'not_ready', reason: 'not_ready', detail })
}

/**
 * Refuses an action that the control plane ordered, because its approval is pending in the control plane. `reason` is
 * null, so that the record has the decision HOLD and not DENY.
 */
function refuseDeferred(exchange: Received, approvalId: string): 'responded' {
  const detail = `Approval ${approvalId} is pending. Execute the action again once it is approved.`
  const action_type = primaryType(exchange)
  const extra = { approval_id: approvalId, decision: 'require_approval', action_type, reason: detail }
  return refuse(exchange, { code: 'approval_pending', reason: null, detail, extra })
}

type Unapproved = Exclude<HoldOutcome, { kind: 'approved' }>

function refuseUnapproved(exchange: Received, outcome: Unapproved): 'responded' {
  if (outcome.kind === 'aborted') throw abortReason(exchange.abort.signal)
  if (outcome.kind === 'deferred') return refuseDeferred(exchange, outcome.approvalId)
  if (outcome.kind === 'unavailable') return refuseUnavailable(exchange, outcome)
  const { kind, approvalId, note } = outcome
  const isExpired = kind === 'expired'
  const detail = isExpired
    ? 'The approval expired without an answer. Send the request again to request a new approval.'
    : [
        noteSentence(note),
        kind === 'denied' ? 'An approver denied this request.' : 'The approval was cancelled.',
      ]
        .filter(Boolean)
        .join(' ')
  return refuse(exchange, {
    code: isExpired ? 'approval_expired' : 'approval_denied',
    reason: isExpired ? 'approval_expired' : 'approval_denied',
    detail,
    reference: approvalId,
    extra: {
      approval_id: approvalId,
      decision: 'deny',
      action_type: primaryType(exchange),
      reason: detail,
      note,
    },
  })
}

function refuseUnavailable(
  exchange: Received,
  { approvalId, note }: { readonly approvalId: string; readonly note: string },
): 'responded' {
  const detail = `${note} The approval is still valid for one request. Send the request again to use it.`
  return refuseExpired(exchange, detail, { approval_id: approvalId })
}

function noteSentence(note: string | null): string {
  const text = note?.trim() ?? ''
  return text === '' || /[.!?]$/.test(text) ? text : `${text}.`
}
