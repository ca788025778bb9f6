import type { ActionSpec, KnownAction } from '../../../../core/action/spec.ts'
import { canonicalTarget } from '../../../../core/connectors/binding/canonical-target.ts'
import { effectNames } from '../../../../core/connectors/effects/effects.ts'
import { matchedDetails } from '../../../../core/decision/audit-details.ts'
import { requiredView } from '../../../../core/decision/policies/required-groups.ts'
import { ruleLabel } from '../../../../core/decision/policies/rule-label.ts'
import { REQUEST_STATUS } from '../../../../core/decision/vocabulary.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { TOKEN_LIFE_S } from '../../../../core/token.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import type { DecisionView, SubmitReply } from '../../../../core/wire/v1.ts'
import { createBatcher } from '../../../batcher.ts'
import { newId } from '../../../crypto/ids.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import type { Db, Query } from '../../../db/query.ts'
import type { AgentRow } from '../../agents/rows.ts'
import { approvalView } from '../../approvals/card.ts'
import type { ApprovalRow } from '../../approvals/rows.ts'
import { lockForOpening, openApproval } from '../../approvals/service.ts'
import { listKillSwitches } from '../../kill-switch/rows.ts'
import type { NotifyEvent } from '../../notifications/service.ts'
import { actionBinding } from '../executions/approval-binding.ts'
import type { ActionRow } from '../rows.ts'
import type { ActionRules, ActionRulesSource } from '../rules.ts'
import { insertActions, type NewAction, type StoredAction } from '../store.ts'
import type { TokenSeed, Tokens } from '../tokens/service.ts'
import { sealWebhook } from '../webhook-address.ts'
import { decisionView, type Evaluated, evaluateAction, killOf } from './evaluation.ts'
import { decidedEvents, pendingEvents } from './events.ts'
import { type IdempotentRequest, once } from './idempotency.ts'

/** Enqueues the notification for the `webhook_url` of an action, in the transaction that changes its state. */
export type Notify = (
  q: Query,
  action: Pick<ActionRow, 'id' | 'orgId' | 'status' | 'decision' | 'spec' | 'webhook'>,
  event: NotifyEvent,
) => Promise<void>

export type SubmissionDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Pick<Keyring, 'seal'>
  readonly rules: ActionRulesSource
  readonly tokens: Tokens
  readonly knownAction: (type: string) => KnownAction | null
  readonly kills: () => readonly KillEntry[]
  readonly clock: { nowMs(): number }
  readonly notify: Notify
  /** Called after a commit that opened an approval. */
  readonly onOpened: (row: ApprovalRow) => void
  /** Called with the error of an evaluation that threw. The action is then denied. */
  readonly onFailed: (error: unknown, agent: string) => void
}

export type Submission = {
  readonly agentId: string
  readonly spec: ActionSpec
  readonly webhookUrl?: string | undefined
  readonly idempotency?: IdempotentRequest | undefined
}

/**
 * The reply to a submission, as stored for its idempotency key. The stored reply has no token, because the token is
 * signed again for each repeated reply.
 */
export type Submitted = {
  readonly id: string
  readonly status: NewAction['status']
  readonly decision: DecisionView
  readonly seed: (TokenSeed & { readonly issuedAt: number }) | null
  readonly approval: NonNullable<SubmitReply['approval']> | null
}

/**
 * Maximum number of times that one action is decided. A decision is repeated when the rules changed before the decision
 * was stored.
 */
const MAX_ROUNDS = 8
const MAX_TOGETHER = 128

export type Submit = (submission: Submission) => Promise<Submitted>

/**
 * Creates the function that decides and stores actions. Concurrent submissions share one statement for actions without
 * an approval, webhook or idempotency key; each other action has its own transaction. A decision is stored only if its
 * rules are still in force.
 */
export function createSubmit(deps: SubmissionDeps): Submit {
  const { db, rules } = deps
  const together = createBatcher((items: readonly NewAction[]) => storeAll(db, items), {
    max: MAX_TOGETHER,
    atOnce: 2,
  })

  return async (submission) => {
    let known = rules.current()
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const agent = known.agent(submission.agentId)
      const done = agent === undefined ? null : await attempt(deps, { submission, known, agent, together })
      if (done !== null) return done
      known = await rules.reload()
    }
    throw configurationUnstable()
  }
}

type Attempt = {
  readonly submission: Submission
  readonly known: ActionRules
  readonly agent: AgentRow
  readonly together: (item: NewAction) => Promise<StoredAction | null>
}

/**
 * Decides and stores the action under the given rules. Returns null when the rules changed before the decision was
 * stored.
 */
async function attempt(deps: SubmissionDeps, given: Attempt): Promise<Submitted | null> {
  const { submission, known, agent } = given
  const { spec, webhookUrl, idempotency } = submission
  const evaluated = evaluateAction(deps, { rules: known, agent, spec })
  const isPlain = webhookUrl === undefined && idempotency === undefined
  if (isPlain && evaluated.decision.verdict !== 'hold') {
    const action = decidedAction(deps, { ...given, evaluated })
    const stored = await given.together(action)
    return stored && submitted(action, stored, null)
  }
  return inTransaction(deps, { ...given, evaluated })
}

type Case = Pick<Attempt, 'submission' | 'known' | 'agent'> & { readonly evaluated: Evaluated }

async function inTransaction(deps: SubmissionDeps, given: Case): Promise<Submitted | null> {
  const { idempotency } = given.submission
  let opened: ApprovalRow | null = null
  const work = async (q: Query): Promise<Submitted> => {
    if (given.evaluated.decision.verdict !== 'hold') return storeDecided(q, deps, given)
    const held = await storePending(q, deps, given)
    opened = held.approval
    return held.submitted
  }
  try {
    const done = await deps.db.tx((q) =>
      idempotency === undefined ? work(q) : once(q, idempotency, () => work(q)),
    )
    if (opened !== null) deps.onOpened(opened)
    return done
  } catch (error) {
    if (error === OUTDATED) return null
    throw error
  }
}

/** Thrown to roll back the transaction when the rules changed before the decision was stored. */
const OUTDATED = new Error('the rules changed while the action was decided, so the decision was not stored')

async function storeDecided(q: Query, deps: SubmissionDeps, given: Case): Promise<Submitted> {
  const action = decidedAction(deps, given)
  const [stored] = await insertActions(q, [action])
  if (stored === undefined) throw OUTDATED
  if (action.webhook !== null) {
    await deps.notify(q, action, action.status === 'allowed' ? 'action.allowed' : 'action.denied')
  }
  return submitted(action, stored, null)
}

async function storePending(
  q: Query,
  deps: SubmissionDeps,
  given: Case,
): Promise<{ readonly submitted: Submitted; readonly approval: ApprovalRow }> {
  const { evaluated, submission } = given
  const base = baseOf(deps, given)
  await lockForOpening(q)
  // A kill switch was stored after the decision. The next attempt decides the action again and denies it.
  if (killOf(await listKillSwitches(q), given.agent, evaluated) !== null) throw OUTDATED
  const approval = await openApproval(q, {
    orgId: deps.orgId,
    agent: base.agent,
    actId: base.id,
    binding: actionBinding(evaluated),
    card: cardOf(evaluated, submission.spec),
    requiredGroups: requiredView(evaluated.decision.requiredGroups),
    timeoutS: LIMITS.approvalTimeoutS,
  })
  const events = pendingEvents(base, evaluated, approval)
  const action = { ...base, approvalId: approval.id, token: null, events }
  const [stored] = await insertActions(q, [action])
  if (stored === undefined) throw OUTDATED
  return { submitted: submitted(action, stored, approval), approval }
}

function decidedAction(deps: SubmissionDeps, given: Case): NewAction {
  const token = given.evaluated.decision.verdict === 'allow' ? deps.tokens.newSeed() : null
  const base = baseOf(deps, given)
  const events = decidedEvents(base, given.evaluated, token?.kid ?? null)
  return { ...base, approvalId: null, token, events }
}

function baseOf(deps: SubmissionDeps, { submission, known, agent, evaluated }: Case) {
  const id = newId('actionRequest')
  const { webhookUrl } = submission
  return {
    id,
    orgId: deps.orgId,
    agentId: agent.id,
    agent: agent.name,
    status: REQUEST_STATUS[evaluated.decision.verdict],
    spec: submission.spec,
    decision: decisionView(evaluated.decision),
    connector: evaluated.action.connector,
    batchId: null,
    webhook: webhookUrl === undefined ? null : sealWebhook(deps.keyring, id, webhookUrl),
    rulesVersion: known.version,
  }
}

function submitted(action: NewAction, { issuedAt }: StoredAction, approval: ApprovalRow | null): Submitted {
  const { id, status, decision, token } = action
  const seed = token === null || issuedAt === null ? null : { ...token, issuedAt }
  return { id, status, decision, seed, approval: approval && approvalView(approval) }
}

/**
 * Returns the approval card of an action. All fields come from the canonical action except `requested_by_agent_text`,
 * which the agent wrote and which the card shows as a quotation.
 */
function cardOf({ action, decision }: Evaluated, spec: ActionSpec): ApprovalRow['card'] {
  return {
    action_type: action.type,
    connector: action.connector,
    target: canonicalTarget(action.connector, action.resource) ?? null,
    method: null,
    host: null,
    path: null,
    parameters: { ...action.parameters },
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    effects: [...effectNames([action])],
    effect: action.effect,
    matched_rule: ruleOf(decision),
    requested_by_agent_text: spec.context?.reason ?? null,
    body_sha256: null,
  }
}

/**
 * Returns the rule that the card names. The text for a platform policy includes the owner of the policy, because a
 * tenant can change neither the rules nor the approvers of the platform team.
 */
function ruleOf(decision: Evaluated['decision']): string | null {
  const { decisive } = decision
  return decisive?.tier === 'platform' ? ruleLabel(decisive) : matchedDetails(decision).matched_rule
}

/** Returns the expiry of a decision token as ISO 8601. `issuedAt`: Unix seconds. */
export function expiryOf(issuedAt: number): string {
  return new Date((issuedAt + TOKEN_LIFE_S) * 1_000).toISOString()
}

/**
 * Stores the actions. Returns the stored actions in the order of `items`; null for an action that was decided under
 * outdated rules.
 */
async function storeAll(db: Db, items: readonly NewAction[]): Promise<readonly (StoredAction | null)[]> {
  const stored = new Map((await insertActions(db, items)).map((row) => [row.id, row]))
  return items.map(({ id }) => stored.get(id) ?? null)
}

export function configurationUnstable(): ChaperoneError {
  return new ChaperoneError('not_ready', {
    error: 'Rules are changing',
    detail:
      'The rules changed repeatedly while the action was decided, or the agent no longer exists. Send the action again.',
    retryAfterS: 1,
  })
}
