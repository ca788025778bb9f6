import * as z from 'zod'
import { PatternSchema } from '../action-patterns.ts'
import { RuleDecisionSchema } from '../fields.ts'
import { PolicyTest } from './policy-test.ts'

export const PolicyScope = z.strictObject({
  actions: z.array(PatternSchema).max(64).default(['*']),
  agents: z.array(z.string().min(1).max(253)).max(64).default(['*']),
  environments: z.array(z.string().min(1).max(64)).max(16).default([]),
  connectors: z.array(z.string().min(1).max(253)).max(64).default([]),
})

export const PolicyRule = z.strictObject({
  name: z.string().min(1).max(128),
  conditions: z.array(z.string().min(1).max(2_000)).max(16).default([]),
  decision: RuleDecisionSchema,
  reason: z.string().max(500).optional(),
  approver_groups: z.array(z.string().min(1).max(128)).max(16).default([]),
  /** True: an approver who answers for this rule cannot also answer for another policy that holds the same request. */
  distinct: z.boolean().optional(),
})

/**
 * `{description?, scope, rules, tests?}`: the content of `policyYaml`, in the spelling of the specification.
 * `Policy.spec` is the same content in the spelling of custom resources (`policyDocumentOf`).
 */
export const PolicyDocument = z.strictObject({
  description: z.string().max(2_000).optional(),
  scope: PolicyScope.prefault({}),
  rules: z.array(PolicyRule).min(1).max(128),
  tests: z.array(PolicyTest).max(256).default([]),
})

export type PolicyDocument = z.infer<typeof PolicyDocument>
export type PolicyRule = z.infer<typeof PolicyRule>
export type PolicyScope = z.infer<typeof PolicyScope>
