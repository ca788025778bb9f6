import { describe, expect, test } from 'vitest'
import type { RiskLevel } from '../../../../core/action/action.ts'
import { actionFromSpec, type KnownAction } from '../../../../core/action/spec.ts'
import { type DecisionRules, decide } from '../../../../core/decision/decide.ts'
import { DEFAULT_POLICIES } from '../../../../core/decision/policies/default-policies.ts'
import { parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'
import { runPolicyTests } from '../../../../core/decision/policies/policy-tests.ts'
import { type ActionText, inputOf, policiesOf, rulesOf } from '../fixtures.ts'

const RISK: Readonly<Record<string, RiskLevel>> = {
  'codehost.issue.create': 'low',
  'codehost.pr.merge': 'medium',
  'codehost.branch.delete': 'high',
  'codehost.repo.delete': 'high',
  'llm_a.model.delete': 'high',
  'payments.charge.create': 'high',
  'payments.customer.create': 'low',
}
const policies = policiesOf(
  DEFAULT_POLICIES.map(({ name, priority, policyYaml }) => ({
    id: `pol_${name}`,
    name,
    priority,
    yaml: policyYaml,
  })),
)
const v1: DecisionRules = { permissions: null, policies, level: null, defaultVerdict: 'deny' }

function known(type: string): KnownAction | null {
  const risk = RISK[type]
  return risk === undefined ? null : { connector: type.split('.')[0] ?? '', effect: 'write', risk }
}

function verdictOf(type: string, environment?: string): string {
  const action: ActionText = { type, risk: RISK[type] ?? 'medium', ...(environment && { environment }) }
  return decide(v1, inputOf(action)).verdict
}

describe('default policies', () => {
  test.each([
    ['safe issue creation', 'codehost.issue.create', 'production', 'allow'],
    ['risky merge', 'codehost.pr.merge', 'production', 'hold'],
    ['destructive branch deletion', 'codehost.branch.delete', 'production', 'deny'],
  ])('%s comes out as it is demonstrated', (_name, type, environment, wanted) => {
    expect(verdictOf(type, environment)).toBe(wanted)
    // The scenarios do not depend on the catalogue being at hand for what is not low risk.
    const spec = { type, resource: { provider: 'codehost', environment } }
    if (wanted !== 'allow') {
      const action = actionFromSpec(spec, null)
      expect(decide(v1, { ...inputOf({ type }), action }).verdict).toBe(wanted)
    }
  })

  test.each([
    ['codehost.repo.delete', 'deny'],
    ['llm_a.model.delete', 'deny'],
    ['payments.charge.create', 'hold'],
    ['payments.customer.create', 'allow'],
    ['custom.thing.do', 'deny'],
  ])('%s is %s', (type, wanted) => {
    expect(verdictOf(type)).toBe(wanted)
  })

  test('an action of an unknown provider matches none of them', () => {
    expect(decide(v1, inputOf({ type: 'custom.thing.do' })).reason).toBe('No policy matched')
  })

  test('do not match proxied requests: permissions alone decide there', () => {
    const request = { method: 'DELETE', host: 'h', path: '/', raw_path: '/', query: {} }
    for (const permitted of ['allow', 'deny', 'require_approval'] as const) {
      const permissions = [
        { id: 'perm_1', connector_type: 'codehost', action_pattern: 'codehost.*', decision: permitted },
      ]
      const rules = {
        ...rulesOf({ level: 'full_enforce', default: 'deny', permissions, policies: [] }),
        policies,
      }
      const bare = { ...rules, policies: policiesOf([]) }
      for (const type of Object.keys(RISK)) {
        const input = inputOf({ type, risk: RISK[type] ?? 'medium', environment: 'production' }, { request })
        expect(decide(rules, input)).toEqual(decide(bare, input))
      }
    }
  })

  test('carry their own tests, which pass', () => {
    for (const { policyYaml } of DEFAULT_POLICIES) {
      const { document, warnings } = parsePolicyYaml(policyYaml)
      expect(warnings).toEqual([])
      expect(runPolicyTests(document, known).filter(({ passed }) => !passed)).toEqual([])
    }
  })
})
