import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../core/action/action.ts'
import { decide } from '../../../core/decision/decide.ts'
import { permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { runPolicyTests } from '../../../core/decision/policies/policy-tests.ts'
import { inputOf, type PermissionText, rulesOf } from './fixtures.ts'

type Rule = [pattern: string, decision: PermissionText['decision'], agent?: string]

function permissions(rules: readonly Rule[]): PermissionText[] {
  return rules.map(([action_pattern, decision, agent = '*'], n) => ({
    ...{ id: `perm_${n}`, connector_type: 'codehost', action_pattern, decision, agent },
  }))
}

function verdict(
  rules: readonly Rule[],
  type: string,
  more: { effect?: Effect; agent?: string; default?: 'allow' | 'deny' } = {},
) {
  const text = {
    level: 'full_enforce' as const,
    default: more.default ?? ('deny' as const),
    permissions: permissions(rules),
    policies: [],
  }
  const action = { type, effect: more.effect ?? ('write' as const), unmapped: type.includes('.unmapped.') }
  const input = inputOf(action, { agent: { name: more.agent ?? 'bot' } })
  return decide(rulesOf(text), input)
}

describe('a permission by effect class', () => {
  test('applies in addition to the permission by name of any specificity: the strictest decides', () => {
    const rules: Rule[] = [
      ['codehost.pr.merge', 'allow'],
      ['codehost.*', 'allow'],
      ['effect:merge', 'deny'],
      ['effect:rewrite_history', 'require_approval'],
    ]
    expect(verdict(rules, 'codehost.pr.merge').verdict).toBe('deny')
    expect(verdict(rules, 'codehost.branch.merge').verdict).toBe('deny')
    expect(verdict(rules, 'codehost.git.force_push').verdict).toBe('hold')
    expect(verdict(rules, 'codehost.issue.create').verdict).toBe('allow')
    expect(
      verdict(
        [
          ['codehost.*', 'deny'],
          ['effect:merge', 'require_approval'],
        ],
        'codehost.pr.merge',
      ).verdict,
    ).toBe('deny')
  })

  test('is named in the reason', () => {
    const { reason, permissionPattern } = verdict(
      [
        ['codehost.*', 'allow'],
        ['effect:merge', 'deny'],
      ],
      'codehost.pr.merge',
    )
    expect(permissionPattern).toBe('effect:merge')
    expect(reason).toBe('Permission "effect:merge" denies codehost.pr.merge.')
  })

  test('of the agent itself comes before the one for every agent', () => {
    const rules: Rule[] = [
      ['codehost.*', 'allow'],
      ['effect:merge', 'deny'],
      ['effect:merge', 'allow', 'release-bot'],
    ]
    expect(verdict(rules, 'codehost.pr.merge', { agent: 'release-bot' }).verdict).toBe('allow')
    expect(verdict(rules, 'codehost.pr.merge').verdict).toBe('deny')
  })

  test('permits an action without a permission by name only where each of its classes has one', () => {
    expect(verdict([['effect:merge', 'allow']], 'codehost.pr.merge').verdict).toBe('allow')
    expect(verdict([['effect:merge', 'require_approval']], 'codehost.pr.merge').verdict).toBe('hold')
    expect(verdict([['effect:visibility', 'allow']], 'codehost.repo.transfer').verdict).toBe('deny')
    const both: Rule[] = [
      ['effect:visibility', 'allow'],
      ['effect:access_grant', 'require_approval'],
    ]
    expect(verdict(both, 'codehost.repo.transfer').verdict).toBe('hold')
    expect(verdict([['effect:merge', 'allow']], 'codehost.issue.create').verdict).toBe('deny')
    expect(
      verdict([['effect:merge', 'require_approval']], 'codehost.pr.merge', { default: 'allow' }).verdict,
    ).toBe('hold')
    expect(
      verdict([['effect:visibility', 'require_approval']], 'codehost.repo.transfer', { default: 'allow' })
        .verdict,
    ).toBe('hold')
  })

  test('tightens a request whose classes are not known, and never permits it', () => {
    const rules: Rule[] = [
      ['codehost.unmapped.*', 'allow'],
      ['effect:merge', 'require_approval'],
      ['effect:delete', 'allow'],
    ]
    expect(verdict(rules, 'codehost.unmapped.post').verdict).toBe('hold')
    expect(verdict([['effect:delete', 'allow']], 'codehost.unmapped.post').verdict).toBe('deny')
  })

  test('is no unknown action', () => {
    const rule = { connectorType: 'codehost', actionPattern: 'effect:merge', decision: 'deny' } as const
    expect(permissionWarnings(rule)).toEqual([])
    expect(permissionWarnings({ ...rule, decision: 'allow' })).toEqual([])
    expect(permissionWarnings({ ...rule, connectorType: 'payments', decision: 'allow' })).toEqual([
      'No action of connector type payments has the effect class merge, so effect:merge has no effect there.',
    ])
  })
})

const POLICY = `
scope: { actions: ["*"] }
rules:
  - name: no rewriting
    conditions: ['"rewrite_history" in action.effects']
    decision: deny
  - name: asks
    conditions: ['action.effects.exists(e, e in ["merge", "publish"])']
    decision: require_approval
tests:
  - { name: force, action: { type: codehost.git.force_push, resource: { provider: codehost } }, expect: { outcome: deny } }
  - { name: merge, action: { type: codehost.pr.merge, resource: { provider: codehost } }, expect: { outcome: requires_approval } }
  - { name: issue, action: { type: codehost.issue.create, resource: { provider: codehost } }, expect: { outcome: no_opinion } }
`

describe('the fact action.effects', () => {
  test('is the list of classes, in the tests of policies as well', () => {
    const { document } = parsePolicyYaml(POLICY)
    expect(runPolicyTests(document).filter(({ passed }) => !passed)).toEqual([])
  })

  test('has no value where the classes are not known, so that such a rule can only tighten', () => {
    const policies = [{ id: 'pol_1', yaml: POLICY }]
    const rules = rulesOf({ level: 'full_enforce', default: 'allow', permissions: [], policies })
    const input = inputOf({ type: 'codehost.unmapped.post', unmapped: true })
    expect(decide(rules, input).verdict).toBe('deny')
  })

  test.each([
    ['"mergee" in action.effects', 'action.effects never contains "mergee" (did you mean merge?)'],
    ['action.effects == "merge"', 'action.effects is a list and is never equal to a string'],
    ['action.efects.size() > 0', 'action has no field "efects" (did you mean effects?)'],
  ])('%s is an error', (condition, message) => {
    const yaml = `rules: [{ name: a, conditions: ['${condition}'], decision: deny }]`
    expect(() => parsePolicyYaml(`scope: {}\n${yaml}`)).toThrow(message)
  })
})
