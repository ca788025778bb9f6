import * as z from 'zod'
import { GatewayRefs, LabelSelector } from '../fields.ts'
import { PolicyDocument, PolicyRule } from './policy-document.ts'
import { PolicyTest, PolicyTestAction } from './policy-test.ts'

const { approver_groups: approverGroups, distinct, ...rule } = PolicyRule.shape
const PolicyRuleSpec = z.strictObject({ ...rule, approverGroups, distinct })

const { risk_hints: riskHints, ...action } = PolicyTestAction.shape
const PolicyTestSpec = z.strictObject({
  ...PolicyTest.shape,
  action: z.strictObject({ ...action, riskHints }),
})

const { description, scope } = PolicyDocument.shape

/** `spec` of a Policy: the policy document in the spelling of custom resources, and the fields of its record. */
export const PolicySpec = z.strictObject({
  description,
  scope,
  rules: z.array(PolicyRuleSpec).min(1).max(128),
  tests: z.array(PolicyTestSpec).max(256).default([]),
  priority: z.int().min(-1_000_000).max(1_000_000).default(100),
  tags: z.array(z.string().min(1).max(64)).max(32).default([]),
  /**
   * `enforce`: decides. `monitor`: only records what it would decide. `disabled`: is not evaluated; a disabled Policy
   * with the name of a built-in policy disables that.
   */
  mode: z.enum(['enforce', 'monitor', 'disabled']).default('enforce'),
  /** Gateways that the policy covers. Default: all of its namespace; from a manifests folder, of the installation. */
  gatewayRefs: GatewayRefs.optional(),
  /** Labels of namespaces whose Gateways the policy covers, instead of `gatewayRefs`. Only for the platform team. */
  namespaceSelector: LabelSelector.optional(),
})

/** Fields that are stored with a policy besides its document, in the spelling of the HTTP API. */
export const PolicyRecord = z.strictObject({
  enabled: z.boolean().default(true),
  priority: PolicySpec.shape.priority,
  tags: PolicySpec.shape.tags,
  mode: z.enum(['enforce', 'monitor']).default('enforce'),
})

export type PolicySpec = z.infer<typeof PolicySpec>
export type PolicyRecord = z.infer<typeof PolicyRecord>
