import * as z from 'zod'
import { PatternSchema } from '../action-patterns.ts'
import { described } from '../described.ts'
import { RuleDecisionSchema } from '../fields.ts'
import { PolicyTest } from './policy-test.ts'

export const PolicyScope = z.strictObject({
  actions: described(
    z.array(PatternSchema).max(64).default(['*']),
    'Action names, or prefixes of names with `*` at the end.',
    ['codehost.pr.*'],
  ),
  agents: described(
    z.array(z.string().min(1).max(253)).max(64).default(['*']),
    'Names of agents, in a cluster `namespace/name`. `*` is every agent.',
    ['team-a/release-bot'],
  ),
  environments: described(
    z.array(z.string().min(1).max(64)).max(16).default([]),
    'Environments of the action, compared without case. An empty list means every environment.',
    ['production'],
  ),
  connectors: described(
    z.array(z.string().min(1).max(253)).max(64).default([]),
    'Types or names of Connectors. An empty list means every Connector.',
    ['codehost'],
  ),
})

export const PolicyRule = z.strictObject({
  name: described(
    z.string().min(1).max(128),
    'Name of the rule, which refusals, records and tests show.',
    'production-merges',
  ),
  conditions: described(
    z.array(z.string().min(1).max(2_000)).max(16).default([]),
    'CEL expressions over action, resource, parameters, request, hints, agent, risk and now. The rule matches if all are true. A condition that cannot be evaluated can only make the decision stricter.',
    ['action.effect == "write" && risk.score >= 0.5'],
  ),
  decision: described(
    RuleDecisionSchema,
    'Decision of the rule, which can only be stricter than the decision of the Permissions.',
    'require_approval',
  ),
  reason: described(
    z.string().max(500).optional(),
    'Reason that refusals and cards show.',
    'Merges to production need a release manager',
  ),
  approver_groups: described(
    z.array(z.string().min(1).max(128)).max(16).default([]),
    'Groups of users who may approve or deny requests that this rule holds. An empty list means every user with the right to answer approvals.',
    ['release-managers'],
  ),
  distinct: described(
    z.boolean().optional(),
    'Whether an approver who answers for this rule is excluded from answering for another policy that holds the same request.',
    true,
  ),
})

/**
 * Policy document `{description?, scope, rules, tests?}`: the content of `policyYaml`, in the spelling of the
 * specification. `Policy.spec` has the same content in the spelling of custom resources (`policyDocumentOf`).
 */
export const PolicyDocument = z.strictObject({
  description: described(
    z.string().max(2_000).optional(),
    'Purpose of the policy, for its readers.',
    'Writes require an approval',
  ),
  scope: described(PolicyScope.prefault({}), 'Actions that the policy decides on; all lists must match.'),
  grants: described(
    z.enum(['allowed', 'restricted']).optional(),
    'Right that an approver needs to make a grant, which also approves later requests of the same kind. With `allowed`, the right to answer approvals is enough. With `restricted`, the default, the approver also needs the right to write permissions.',
    'allowed',
  ),
  rules: z.array(PolicyRule).min(1).max(128),
  tests: z.array(PolicyTest).max(256).default([]),
})

export type PolicyDocument = z.infer<typeof PolicyDocument>
export type PolicyRule = z.infer<typeof PolicyRule>
export type PolicyScope = z.infer<typeof PolicyScope>
