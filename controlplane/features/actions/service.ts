import type { ActionSpec } from '../../../core/action/spec.ts'
import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import type { BatchReply, DryRunReply, StatusReply, SubmitReply } from '../../../core/wire/v1.ts'
import { approvalView } from '../approvals/card.ts'
import { getApproval } from '../approvals/rows.ts'
import { createCancel } from './cancellation/cancel.ts'
import { type OwnAction, ownAction } from './executions/action-of-agent.ts'
import { getAction } from './rows.ts'
import { createSubmitBatch } from './submission/batches.ts'
import { decisionView, evaluateAction } from './submission/evaluation.ts'
import {
  configurationUnstable,
  createSubmit,
  expiryOf,
  type Submission,
  type SubmissionDeps,
  type Submitted,
} from './submission/service.ts'

export type Actions = {
  /**
   * Decides and stores the action, and issues a decision token when the action is allowed. Throws `conflict` when an
   * Idempotency-Key is reused with another body.
   */
  submit(submission: Submission): Promise<SubmitReply>
  submitBatch(agentId: string, specs: readonly ActionSpec[]): Promise<BatchReply>
  /**
   * Decides the action with the newest rules and returns the decision with its full trace. Stores nothing and issues no
   * token.
   */
  dryRun(agentId: string, spec: ActionSpec): Promise<DryRunReply>
  /**
   * Returns the state of an action of this agent. Throws `not_found` for an unknown action and for an action of another
   * agent.
   */
  get(own: OwnAction): Promise<StatusReply>
  /**
   * Cancels an action that is pending approval, or allowed and not executed yet. Throws `not_found`, and `conflict` in
   * any other state.
   */
  cancel(own: OwnAction): Promise<void>
  /**
   * Returns the decision token of an action for its webhook notification; null when the action has no token that can be
   * used.
   */
  tokenOf(id: string): Promise<string | null>
}

export function createActions(deps: SubmissionDeps): Actions {
  const { db, rules, tokens, orgId } = deps
  const submit = createSubmit(deps)
  const submitBatch = createSubmitBatch(deps)
  const sign = (agentId: string, spec: ActionSpec, { id, seed }: Pick<Submitted, 'id' | 'seed'>) =>
    seed === null ? null : tokens.signed({ id, orgId, agentId, spec }, seed, seed.issuedAt)

  return {
    async submit(submission) {
      const done = await submit(submission)
      const token = await sign(submission.agentId, submission.spec, done)
      return {
        action_request_id: done.id,
        status: done.status,
        decision: done.decision,
        decision_token: token,
        ...(done.seed === null ? {} : { expires_at: expiryOf(done.seed.issuedAt) }),
        ...(done.approval === null ? {} : { approval: done.approval }),
      }
    },
    async submitBatch(agentId, specs) {
      const { batchId, items } = await submitBatch(agentId, specs)
      const results = items.map(async (item) => ({
        action_request_id: item.id,
        status: item.status,
        decision: item.decision,
        decision_token: await sign(agentId, item.spec, item),
        expires_at: item.seed === null ? null : expiryOf(item.seed.issuedAt),
      }))
      return { batch_id: batchId, total: items.length, results: await Promise.all(results) }
    },
    async dryRun(agentId, spec) {
      const known = await rules.fresh()
      const agent = known.agent(agentId)
      if (agent === undefined) throw configurationUnstable()
      const { decision } = evaluateAction(deps, { rules: known, agent, spec, trace: true })
      const trace = (decision.trace ?? []).map((policy) => ({ ...policy, rules: [...policy.rules] }))
      return {
        dry_run: true,
        decision: {
          ...decisionView(decision),
          matched_rules: decision.source === 'kill' ? [] : decision.rules.map(({ rule }) => rule),
          risk_factors: [...decision.riskFactors],
          approver_groups: groupNames(decision.requiredGroups),
        },
        trace,
        policies_evaluated: trace.length,
        agent: { id: agent.id, environment: agent.environment },
      }
    },
    async get(own) {
      const row = await ownAction(() => getAction(db, own.id), own)
      const approval = row.approvalId === null ? undefined : await getApproval(db, row.approvalId)
      const token = await tokens.of(row)
      return {
        action_request_id: row.id,
        // An overdue approval counts as expired by the database clock, even before the sweeper stores the expiry.
        status: row.status === 'pending_approval' && approval?.isOverdue === true ? 'expired' : row.status,
        action_spec: row.spec,
        decision: row.decision,
        decision_token: token,
        expires_at: token === null || row.issuedAt === null ? null : expiryOf(row.issuedAt),
        approval: approval === undefined ? null : approvalView(approval),
        created_at: row.createdAt.toISOString(),
      }
    },
    cancel: createCancel(deps),
    async tokenOf(id) {
      const row = await getAction(db, id)
      return row === undefined ? null : tokens.of(row)
    },
  }
}
