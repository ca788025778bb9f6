import type { ActionSpec } from '../../../../core/action/spec.ts'
import { REFUSAL_LIMITS } from '../../../../core/state/refusal-limits.ts'
import { storableText } from '../../../../core/storable.ts'
import type { DecisionView } from '../../../../core/wire/v1.ts'
import { newId } from '../../../crypto/ids.ts'
import { rateLimited } from '../../../rate-limited.ts'
import type { AgentRow } from '../../agents/rows.ts'
import type { ActionRules } from '../rules.ts'
import { insertActions, type NewAction, type StoredAction } from '../store.ts'
import type { TokenSeed } from '../tokens/service.ts'
import { decisionView, type Evaluated, evaluateAction } from './evaluation.ts'
import { decidedEvents } from './events.ts'
import { takeRefusedItems } from './refused-item-store.ts'
import { configurationUnstable, type SubmissionDeps } from './service.ts'

export type BatchItem = {
  readonly id: string
  readonly spec: ActionSpec
  readonly status: NewAction['status']
  readonly decision: DecisionView
  readonly seed: (TokenSeed & { readonly issuedAt: number }) | null
}
export type Batch = { readonly batchId: string; readonly items: readonly BatchItem[] }

const MAX_ROUNDS = 8

/**
 * Creates the function that decides the actions of a batch under one version of the rules and stores all of them in one
 * statement. A batch opens no approvals: an action that needs an approval is denied, and the reason of its decision
 * says so. An action whose evaluation fails is denied and does not affect the other actions. The function throws
 * `rate_limited` when the agent exceeds the limit of refused actions per minute.
 */
export function createSubmitBatch(
  deps: SubmissionDeps,
): (agentId: string, specs: readonly ActionSpec[]) => Promise<Batch> {
  return async (agentId, specs) => {
    let known = deps.rules.current()
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const agent = known.agent(agentId)
      const done = agent === undefined ? null : await store(deps, { known, agent, specs })
      if (done !== null) return done
      known = await deps.rules.reload()
    }
    throw configurationUnstable()
  }
}

type Given = { readonly known: ActionRules; readonly agent: AgentRow; readonly specs: readonly ActionSpec[] }

async function store(deps: SubmissionDeps, given: Given): Promise<Batch | null> {
  const batchId = newId('batch')
  const actions = given.specs.map((spec) => itemOf(deps, given, { spec, batchId }))
  const refused = actions.filter(({ status }) => status === 'denied')
  if (refused.length > 0) await countRefused(deps, given.agent.id, refused)
  const stored = new Map((await insertActions(deps.db, actions)).map((row) => [row.id, row]))
  if (stored.size < actions.length) return null
  return { batchId, items: actions.map((action) => answered(action, stored.get(action.id))) }
}

/**
 * Counts the refused actions of a batch. Throws `rate_limited` above the limit per minute. The request rate limit is
 * not sufficient, because a batch counts as one request and may add up to 20 audit events.
 */
async function countRefused(
  { db }: SubmissionDeps,
  agentId: string,
  refused: readonly NewAction[],
): Promise<void> {
  const targets = new Set(refused.map(targetOf))
  const retryAfterS = await takeRefusedItems(db, { agentId, items: refused.length, targets: [...targets] })
  if (retryAfterS !== null) throw rateLimited(retryAfterS)
}

function targetOf({ spec: { resource } }: NewAction): string {
  const target = resource.target ?? resource.provider
  return storableText(target.slice(0, REFUSAL_LIMITS.targetLength))
}

function answered(
  { id, spec, status, decision, token }: NewAction,
  stored: StoredAction | undefined,
): BatchItem {
  const issuedAt = stored?.issuedAt ?? null
  return {
    id,
    spec,
    status,
    decision,
    seed: token === null || issuedAt === null ? null : { ...token, issuedAt },
  }
}

function itemOf(
  deps: SubmissionDeps,
  { known, agent, specs: _specs }: Given,
  { spec, batchId }: { readonly spec: ActionSpec; readonly batchId: string },
): NewAction {
  const evaluated = asBatchItem(evaluateSafely(deps, known, agent, spec))
  const token = evaluated.decision.verdict === 'allow' ? deps.tokens.newSeed() : null
  const subject = { id: newId('actionRequest'), orgId: deps.orgId, agentId: agent.id, agent: agent.name }
  return {
    ...subject,
    status: token === null ? 'denied' : 'allowed',
    spec,
    decision: decisionView(evaluated.decision),
    connector: evaluated.action.connector,
    batchId,
    approvalId: null,
    webhook: null,
    rulesVersion: known.version,
    token,
    events: decidedEvents(subject, evaluated, token?.kid ?? null),
  }
}

function asBatchItem(evaluated: Evaluated): Evaluated {
  const { decision } = evaluated
  if (decision.verdict !== 'hold') return evaluated
  const reason = `${decision.reason} A batch opens no approvals. Submit this action by itself to request an approval.`
  return { ...evaluated, decision: { ...decision, reason } }
}

function evaluateSafely(
  deps: SubmissionDeps,
  rules: ActionRules,
  agent: AgentRow,
  spec: ActionSpec,
): Evaluated {
  try {
    return evaluateAction(deps, { rules, agent, spec })
  } catch (error) {
    deps.onFailed(error, agent.name)
    return deniedFor(
      spec,
      'The action could not be evaluated, so the action is denied. Submit it by itself, or tell an admin.',
    )
  }
}

function deniedFor(spec: ActionSpec, reason: string): Evaluated {
  const { provider } = spec.resource
  return {
    action: {
      type: spec.type,
      connector: provider,
      effect: 'write',
      risk: 'high',
      resource: { provider },
      parameters: spec.parameters ?? {},
      riskHints: spec.risk_hints ?? {},
    },
    gateway: null,
    connectors: [],
    environment: undefined,
    decision: {
      verdict: 'deny',
      would: 'deny',
      reason,
      source: 'default',
      permission: null,
      permissionPattern: null,
      policies: [],
      rules: [],
      riskScore: 1,
      riskFactors: ['nothing known +1'],
      requiredGroups: [],
    },
  }
}
