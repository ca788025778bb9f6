import * as z from 'zod'
import { described } from '../described.ts'
import { GatewayRefs } from '../fields.ts'
import { LabelSelector } from '../gateway/namespace-fields.ts'
import { PolicyDocument, PolicyRule } from './policy-document.ts'
import { PolicyTest, PolicyTestAction } from './policy-test.ts'

const { approver_groups: approverGroups, distinct, ...rule } = PolicyRule.shape
const PolicyRuleSpec = z.strictObject({ ...rule, approverGroups, distinct })

const { risk_hints: riskHints, ...action } = PolicyTestAction.shape
const PolicyTestSpec = z.strictObject({
  ...PolicyTest.shape,
  action: described(z.strictObject({ ...action, riskHints }), 'Action that the policy decides on.', {
    type: 'codehost.pr.merge',
    resource: { provider: 'codehost' },
  }),
})

const { description, scope, grants } = PolicyDocument.shape

/**
 * Schema of `spec` of a Policy: the policy document in the spelling of custom resources, and the stored fields of
 * `PolicyRecord`.
 */
export const PolicySpec = z.strictObject({
  description,
  scope,
  grants,
  rules: described(
    z.array(PolicyRuleSpec).min(1).max(128),
    'Rules in order; the first one that matches decides. If no rule matches, the policy does not affect the decision.',
    [{ name: 'writes', conditions: ['action.effect == "write"'], decision: 'require_approval' }],
  ),
  tests: described(
    z.array(PolicyTestSpec).max(256).default([]),
    'Tests of the rules. A policy whose tests fail is not put in force: the last version that passed its tests stays in force. If there is none, all actions in the scope of the policy are denied.',
    [
      {
        name: 'merging requires an approval',
        action: { type: 'codehost.pr.merge', resource: { provider: 'codehost', target: 'acme/site' } },
        expect: { outcome: 'requires_approval', rule: 'writes' },
      },
    ],
  ),
  priority: described(
    z.int().min(-1_000_000).max(1_000_000).default(100),
    'Order of policies of the same origin: the platform team, the installation, the namespace of the Gateway, or other namespaces. Of those with a matching rule, the one with the highest priority decides. At equal priority, the strictest decision applies.',
    100,
  ),
  tags: described(
    z.array(z.string().min(1).max(64)).max(32).default([]),
    'Labels for lists and filters of the dashboard, without effect on decisions.',
    ['compliance'],
  ),
  mode: described(
    z.enum(['enforce', 'monitor', 'disabled']).default('enforce'),
    '`enforce` decides. `monitor` only records what it would decide. `disabled` is not evaluated; a disabled Policy with the name of a built-in policy disables the built-in policy.',
    'monitor',
  ),
  gatewayRefs: described(
    GatewayRefs.optional(),
    'Gateways that the policy covers. If absent, all Gateways of its namespace; for a policy in a manifests folder, all Gateways of the installation.',
    [{ name: 'default' }],
  ),
  namespaceSelector: described(
    LabelSelector.optional(),
    'Labels of namespaces whose Gateways the policy covers, instead of `gatewayRefs`. Only for Policies of the platform team.',
    { matchLabels: { tier: 'production' } },
  ),
})

/** Fields that the control plane stores with a policy in addition to its document, in the spelling of the HTTP API. */
export const PolicyRecord = z.strictObject({
  enabled: z.boolean().default(true),
  priority: PolicySpec.shape.priority,
  tags: PolicySpec.shape.tags,
  mode: z.enum(['enforce', 'monitor']).default('enforce'),
})

export type PolicySpec = z.infer<typeof PolicySpec>
export type PolicyRecord = z.infer<typeof PolicyRecord>
