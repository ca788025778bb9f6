import type { KnownAction } from '../../../../core/action/spec.ts'
import { manifestsText, nameOfManifest, rowManifests } from '../../../../core/crd/manifests/row-manifests.ts'
import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { type ExceptionFacts, withException } from '../../../../core/decision/policies/policy-exception.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { covers, type Namespaces } from '../../../../core/wire/access/rights.ts'
import type { HeldBy } from '../../../../core/wire/gateway/hold.ts'
import type {
  ExceptionsReply,
  ExceptionTarget,
  PolicyExceptionView,
} from '../../../../core/wire/policy-exceptions.ts'
import type { Db } from '../../../db/query.ts'
import type { ScopedReads } from '../../../db/scoped-query.ts'
import { readManifestRows, type StoredRows } from '../../manifests/rows.ts'
import type { PolicyCheck } from '../../policies/check.ts'
import { listPoliciesIn, type PolicyRow } from '../../policies/rows.ts'
import { type ApprovalRow, getApproval } from '../rows.ts'
import { holdingRule } from './holding-rule.ts'

export type PolicyExceptionsDeps = {
  readonly db: Db
  readonly read: ScopedReads
  readonly knownAction: (type: string) => KnownAction | null
  readonly policyCheck: PolicyCheck
  readonly platformNamespaces: ReadonlySet<string>
}

export type AskedExceptions = {
  readonly id: string
  readonly target: ExceptionTarget
  /** Namespaces in which the caller may read approvals. */
  readonly approvals: Namespaces
  readonly policies: Namespaces
}

/**
 * Returns an exception for each policy that holds a request: the changed text of the policy with the results of its
 * tests. Stores nothing. Throws `not_found` for an approval of another namespace.
 */
export type PolicyExceptions = (asked: AskedExceptions) => Promise<ExceptionsReply>

export function createPolicyExceptions(deps: PolicyExceptionsDeps): PolicyExceptions {
  return async (asked) => {
    const row = await getApproval(deps.db, asked.id)
    if (row === undefined || !covers(asked.approvals, namespaceOf(row.agent) || null))
      throw notFound(asked.id)
    const held = row.card.held_by
    if (held === undefined) return { exceptions: [], permission_requires_approval: false }
    const query = deps.read(asked.policies)
    const rows = new Map((await listPoliciesIn(query)).map((policy) => [policy.id, policy]))
    const context = { ...deps, asked, row, manifests: await readManifestRows(query, 'newest') }
    const exceptions: PolicyExceptionView[] = []
    for (const holding of held.policies) exceptions.push(await exceptionIn(context, holding, rows))
    return { exceptions, permission_requires_approval: held.source !== 'policy' }
  }
}

type Context = PolicyExceptionsDeps & {
  readonly asked: AskedExceptions
  readonly row: ApprovalRow
  readonly manifests: StoredRows
}

const NO_SINGLE_RULE = {
  several:
    'Several rules of the policy require approval of the same groups, so it is unclear which rule needs the exception. Add the exception in the editor of the policy.',
  none: 'No rule of the policy requires approval of the groups of this request, so no rule can get the exception. Edit the policy by hand.',
} as const

type Holding = HeldBy['policies'][number]

async function exceptionIn(
  context: Context,
  holding: Holding,
  rows: ReadonlyMap<string, PolicyRow>,
): Promise<PolicyExceptionView> {
  const { asked, row } = context
  const at = holding.ref.lastIndexOf('@')
  const policy = rows.get(holding.ref.slice(0, at))
  const none = (obstacle: string) => ({ kind: 'none' as const, policy: holding.rule, obstacle })
  if (policy === undefined)
    return none(
      'No exception can be added: the policy is built in, was deleted, or belongs to a namespace whose policies you cannot read. Answer the request by itself, or ask an admin.',
    )
  if (`${policy.activeVersion}` !== holding.ref.slice(at + 1) || policy.version !== policy.activeVersion)
    return none(
      'The policy has changed since it held this request, so no exception is proposed. Edit the policy by hand, or wait until it holds another request.',
    )
  const { name: rule, problem } = holdingRule(policy.policyYaml, holding, row.card.matched_rule)
  if (rule === null) return none(NO_SINGLE_RULE[problem])
  const made = withException(
    policy.policyYaml,
    factsOf(row),
    { rule, target: asked.target },
    context.knownAction,
  )
  if (made.obstacle !== null) return none(made.obstacle)
  const { text, ...added } = made
  const { mode, priority, enabled, tags } = policy
  return {
    ...textsOf(context, policy, text),
    policy_id: policy.id,
    policy: policy.name,
    version: policy.version,
    holding_rule: rule,
    rule: added.rule,
    tested: added.isTested,
    check: await context.policyCheck(asked.policies, text, { mode, priority, enabled, tags: [...tags] }),
  }
}

/**
 * Returns the texts before and after the exception. For a policy that comes from a manifest, returns texts of the
 * manifest, because an exception must be made in the manifest.
 */
function textsOf(context: Context, policy: PolicyRow, text: string) {
  if (policy.source === 'api') return { kind: 'text' as const, before: policy.policyYaml, after: text }
  return {
    kind: 'manifest' as const,
    before: manifestOf(context, policy, policy.policyYaml),
    after: manifestOf(context, policy, text),
  }
}

function manifestOf(
  { manifests, platformNamespaces }: Context,
  { id, name }: PolicyRow,
  text: string,
): string {
  const policies = manifests.policies.flatMap((row) => (row.id === id ? [{ ...row, text }] : []))
  const placement = {
    gateways: manifests.gateways,
    platformNamespaces: [...platformNamespaces],
    isWhole: false,
  }
  const found = rowManifests({ ...manifests, policies }, placement)
  return manifestsText(found.filter((manifest) => nameOfManifest(manifest) === `Policy ${name}`))
}

function factsOf({ id, agent, card }: ApprovalRow): ExceptionFacts {
  const { action_type: actionType, connector, target, parameters, method, host, path, access_request } = card
  const isRequest = access_request !== true && method !== null && host !== null && path !== null
  return {
    approvalId: id,
    agent,
    actionType,
    target,
    parameters,
    connector: connector ?? actionType.split('.')[0] ?? '',
    request: isRequest ? { method, host, path } : null,
  }
}

function notFound(id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    error: 'Approval not found',
    detail: `There is no approval ${id}. List the pending approvals to find its id.`,
  })
}
