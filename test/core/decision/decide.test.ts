import { describe, expect, test } from 'vitest'
import { decide, decideAll, decideNamed, underKillSwitch } from '../../../core/decision/decide.ts'
import type { EnforcementLevel } from '../../../core/decision/decision.ts'
import { explainText } from '../../../core/decision/explain.ts'
import { strictness, type Verdict } from '../../../core/decision/vocabulary.ts'
import fc from '../../support/fast-check.ts'
import { actionOf, inputOf, type PolicyText, policiesOf, rulesOf } from './fixtures.ts'

const decisions = fc.constantFrom('allow', 'deny', 'require_approval' as const)
const types = fc.constantFrom('codehost.pr.merge', 'codehost.repo.delete', 'codehost.unmapped.post')

function policy(id: string, priority: number, decision: string, more: Partial<PolicyText> = {}): PolicyText {
  return { id, priority, yaml: `rules: [{ name: r, decision: ${decision} }]`, ...more }
}

describe('decide', () => {
  test('is never weaker than the permission or than the deciding policy, and never allows an unspoken action', () => {
    const permission = fc.record({
      pattern: fc.constantFrom('codehost.*', 'codehost.pr.*', '*'),
      decision: decisions,
    })
    const policies = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), decisions), { maxLength: 4 })
    fc.assert(
      fc.property(
        fc.array(permission, { maxLength: 3 }),
        policies,
        types,
        (permissions, policyRows, type) => {
          const rules = rulesOf({
            level: 'full_enforce',
            default: 'deny',
            permissions: permissions.map(({ pattern, decision }, n) => ({
              id: `perm_${n}`,
              connector_type: 'codehost',
              action_pattern: pattern,
              decision: decision as 'allow',
            })),
            policies: policyRows.map(([priority, decision], n) => policy(`pol_${n}`, priority, decision)),
          })
          const none = { ...rules, policies: policiesOf([]) }
          const both = decide(rules, inputOf({ type }))
          const permitted = decide(none, inputOf({ type }))
          expect(strictness(both.verdict)).toBeGreaterThanOrEqual(strictness(permitted.verdict))
          const top = Math.max(...policyRows.map(([priority]) => priority))
          const deciding = policyRows.filter(([priority]) => priority === top)
          if (deciding.some(([, decision]) => decision === 'deny')) expect(both.verdict).toBe('deny')
          if (both.permission === null) expect(both.verdict).toBe('deny')
        },
      ),
    )
  })

  test('a condition that cannot be evaluated never turns a deny into something weaker', () => {
    const wanted = fc.constantFrom(
      'true',
      'false',
      'parameters.nope',
      'parameters.nope > 1',
      'size(parameters.x) > 1',
    )
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 3 }), decisions, (conditions, decision) => {
        const list = conditions.map((text) => `'${text}'`).join(', ')
        const yaml = `rules: [{ name: r, conditions: [${list}], decision: ${decision} }]`
        const rules = rulesOf({
          level: null,
          default: 'deny',
          permissions: null,
          policies: [{ id: 'pol_x', yaml }],
        })
        const { verdict, policies } = decide(rules, inputOf({ type: 'x' }))
        const fails = conditions.includes('false')
        const errs = !fails && conditions.some((text) => text !== 'true')
        if (decision === 'allow') expect(verdict).toBe(fails || errs ? 'deny' : 'allow')
        else expect(policies.length).toBe(fails ? 0 : 1)
      }),
    )
  })

  test('an unknown default verdict, decision or level is a deny that is enforced', () => {
    const rules = rulesOf({ level: 'full_enforce', default: 'deny', permissions: [], policies: [] })
    const unknown = { ...rules, defaultVerdict: 'quarantine' as Verdict, level: 'future' as EnforcementLevel }
    expect(decide(unknown, inputOf({ type: 'codehost.x.y' })).verdict).toBe('deny')
    const newer = rulesOf({
      level: 'future' as EnforcementLevel,
      default: 'allow',
      permissions: [
        {
          id: 'p',
          connector_type: 'codehost',
          action_pattern: 'codehost.*',
          decision: 'quarantine' as 'deny',
        },
      ],
      policies: [],
    })
    expect(decide(newer, inputOf({ type: 'codehost.x.y' })).verdict).toBe('deny')
  })

  test('the gateway’s default decides actions without a permission', () => {
    for (const [text, verdict] of [
      ['allow', 'allow'],
      ['require_approval', 'hold'],
      ['deny', 'deny'],
    ] as const) {
      const rules = rulesOf({ level: 'full_enforce', default: text, permissions: [], policies: [] })
      expect(decide(rules, inputOf({ type: 'codehost.x.y' }))).toMatchObject({ verdict, source: 'default' })
    }
  })

  test('v1 with a gateway: silence on both sides is a deny, even where the gateway’s default allows', () => {
    const rules = rulesOf({ level: null, default: 'allow', permissions: [], policies: [] })
    expect(decide(rules, inputOf({ type: 'x.y' }))).toMatchObject({
      verdict: 'deny',
      reason: 'No policy matched',
    })
  })

  test('v1 with a gateway: a permission alone is enough', () => {
    const permissions = [{ id: 'p', connector_type: 'x', action_pattern: 'x.*', decision: 'allow' as const }]
    const rules = rulesOf({ level: null, default: 'deny', permissions, policies: [] })
    expect(decide(rules, inputOf({ type: 'x.y' }))).toMatchObject({ verdict: 'allow', permission: 'p' })
  })

  test('the trace names every policy and rule and the condition that failed', () => {
    const rules = rulesOf({
      level: null,
      default: 'deny',
      permissions: null,
      policies: [
        {
          id: 'pol_a',
          name: 'a',
          priority: 2,
          yaml: 'scope: { actions: [other.*] }\nrules: [{ name: r, decision: deny }]',
        },
        {
          id: 'pol_b',
          name: 'b',
          priority: 1,
          yaml: "rules:\n  - { name: no, conditions: ['true', 'risk.score > 0.9'], decision: deny }\n  - { name: yes, decision: allow }",
        },
      ],
    })
    expect(decide(rules, inputOf({ type: 'x.y' }), { trace: true }).trace).toEqual([
      { policy_id: 'pol_a', policy_name: 'a', scope_matched: false, rules: [] },
      {
        policy_id: 'pol_b',
        policy_name: 'b',
        scope_matched: true,
        rules: [
          {
            rule_name: 'no',
            conditions_matched: false,
            failed_condition: 'risk.score > 0.9',
            decision: null,
          },
          { rule_name: 'yes', conditions_matched: true, failed_condition: null, decision: 'allow' },
        ],
      },
    ])
    expect(decide(rules, inputOf({ type: 'x.y' })).trace).toBeUndefined()
  })

  test('the kill switch turns any decision into a deny and keeps its trace', () => {
    const rules = rulesOf({
      level: null,
      default: 'deny',
      permissions: null,
      policies: [policy('pol_a', 1, 'allow')],
    })
    const decision = decide(rules, inputOf({ type: 'x.y' }), { trace: true })
    const entry = { scope: 'all', source: 'api', reason: 'incident 7', since: '2026-01-01T00:00:00Z' }
    expect(underKillSwitch(decision, entry)).toMatchObject({
      verdict: 'deny',
      source: 'kill',
      reason: 'Kill switch active: incident 7',
      trace: decision.trace,
    })
  })

  test('every policy of one priority that holds requires its own groups', () => {
    const hold = (id: string, groups: string, more = ''): PolicyText => ({
      id,
      name: id,
      yaml: `rules: [{ name: r, decision: require_approval, approver_groups: [${groups}]${more} }]`,
    })
    const requiredBy = (...policies: PolicyText[]) =>
      decide(
        rulesOf({ level: null, default: 'deny', permissions: null, policies }),
        inputOf({ type: 'x' }),
      ).requiredGroups.map(({ policy, groups, distinct }) => [policy, groups.join(' '), distinct])
    expect(requiredBy(hold('pol_a', 'ops, dev'), hold('pol_b', 'sec, ops'))).toEqual([
      ['pol_a', 'ops dev', false],
      ['pol_b', 'sec ops', false],
    ])
    expect(requiredBy(hold('pol_a', 'dev', ', distinct: true'), hold('pol_b', ''))).toEqual([
      ['pol_a', 'dev', true],
      ['pol_b', '', false],
    ])
    const overridden = { ...hold('pol_low', 'sec'), priority: 10 }
    expect(requiredBy(hold('pol_a', 'dev'), overridden)).toEqual([['pol_a', 'dev', false]])
  })
})

describe('several actions in one request', () => {
  const rules = rulesOf({
    level: 'full_enforce',
    default: 'deny',
    permissions: [
      { id: 'perm_ok', connector_type: 'mcp', action_pattern: 'mcp.*', decision: 'allow' },
      {
        id: 'perm_ask',
        connector_type: 'mcp',
        action_pattern: 'mcp.tools.send',
        decision: 'require_approval',
      },
      { id: 'perm_no', connector_type: 'mcp', action_pattern: 'mcp.tools.delete', decision: 'deny' },
    ],
    policies: [],
  })
  const inputs = (...types: string[]) => types.map((type) => inputOf({ type }))
  const candidates = (given: typeof rules, of: ReturnType<typeof inputs>) =>
    decideNamed(given, { kind: 'candidates', candidates: of.map(({ action }) => action) }, of)

  test('the strictest rule decides, and the reason names its owner', () => {
    const decision = decideAll(rules, inputs('mcp.tools.list', 'mcp.tools.delete', 'mcp.tools.send'))
    expect(decision).toMatchObject({ verdict: 'deny', permission: 'perm_no' })
    expect(decision.reason).toMatch(
      /^Permission .* Action 2 of 3 \(mcp\.tools\.delete\) determines the decision on the request\.$/,
    )
  })

  test('one action is just that action, none is a deny', () => {
    expect(decideAll(rules, inputs('mcp.tools.list'))).toEqual(
      decide(rules, inputOf({ type: 'mcp.tools.list' })),
    )
    expect(decideAll(rules, []).verdict).toBe('deny')
  })

  test('candidates with one verdict need no body, others do', () => {
    expect(candidates(rules, inputs('mcp.a', 'mcp.b'))).toMatchObject({ verdict: 'allow' })
    expect(candidates(rules, inputs('mcp.a', 'mcp.tools.send'))).toBe('split')
    expect(candidates(rules, inputs('other.a', 'other.b'))).toMatchObject({ verdict: 'deny' })
    expect(candidates(rules, [])).toMatchObject({ verdict: 'deny' })
  })

  test('candidates that need different approvers are split', () => {
    const yaml = `rules:
  - { name: a, conditions: ['action.type == "mcp.a"'], decision: require_approval, approver_groups: [ops] }
  - { name: b, decision: require_approval }`
    const held = { ...rules, policies: policiesOf([{ id: 'pol_x', yaml }]) }
    expect(candidates(held, inputs('mcp.a', 'mcp.b'))).toBe('split')
    expect(candidates(held, inputs('mcp.b', 'mcp.c'))).toMatchObject({ verdict: 'hold' })
  })

  test('a request requires the groups of each of its actions, every set once', () => {
    const yaml = `rules:
  - { name: a, conditions: ['action.type == "mcp.a"'], decision: require_approval, approver_groups: [ops] }
  - { name: b, conditions: ['action.type == "mcp.b"'], decision: require_approval, approver_groups: [sec] }`
    const held = { ...rules, policies: policiesOf([{ id: 'pol_x', yaml }]) }
    const { verdict, requiredGroups } = decideAll(held, inputs('mcp.a', 'mcp.b', 'mcp.c', 'mcp.a'))
    expect(verdict).toBe('hold')
    expect(requiredGroups.map(({ groups }) => groups)).toEqual([['ops'], ['sec']])
  })

  test('the strictest of any list is at least as strict as each of its members', () => {
    const names = fc.constantFrom('mcp.tools.list', 'mcp.tools.send', 'mcp.tools.delete', 'other.x')
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 5 }), (list) => {
        const whole = strictness(decideAll(rules, inputs(...list)).verdict)
        for (const each of inputs(...list))
          expect(whole).toBeGreaterThanOrEqual(strictness(decide(rules, each).verdict))
      }),
    )
  })
})

describe('explain', () => {
  const rules = rulesOf({
    level: 'full_enforce',
    default: 'deny',
    permissions: [
      { id: 'perm_1', connector_type: 'codehost', action_pattern: 'codehost.*', decision: 'allow' },
    ],
    policies: [
      {
        id: 'pol_1',
        name: 'guard',
        yaml: 'rules: [{ name: ask, decision: require_approval, approver_groups: [ops] }]',
      },
    ],
  })

  test('prints everything that was seen, the winner and the version', () => {
    const action = { type: 'codehost.pr.merge' }
    const text = explainText({
      request: 'PUT api.example/repos/a/b/pulls/1/merge',
      agent: 'bot',
      connector: 'codehost',
      action: actionOf(action),
      decision: decide(rules, inputOf(action)),
      snapshotVersion: 17,
    })
    expect(text.split('\n')).toEqual([
      'request     PUT api.example/repos/a/b/pulls/1/merge',
      'agent       bot',
      'connector   codehost, GitHub (codehost)',
      'action      codehost.pr.merge (write, risk 0.5: medium risk +0.5, effects: merge)',
      'permission  "codehost.*" (perm_1)',
      'policy      "guard", rule "ask" (pol_1)',
      'verdict     HOLD (decided by policy, approvers: ops)',
      'reason      Policy "guard", rule "ask", requires approval for codehost.pr.merge.',
      'snapshot    17',
    ])
  })

  test('does not propose a more specific permission beside one for an effect class, which it does not override', () => {
    const remedyFor = (agent: string) => {
      const permission = { id: 'perm_1', connector_type: 'codehost', action_pattern: 'effect:merge', agent }
      const rules = rulesOf({
        ...{ level: 'full_enforce', default: 'deny', policies: [] },
        permissions: [{ ...permission, decision: 'deny' }],
      })
      return decide(rules, inputOf({ type: 'codehost.pr.merge' })).remedy
    }
    const end = 'A permission for the name of the action does not override it.'
    expect(remedyFor('*')).toBe(
      `Change that permission (perm_1), or add a permission for "effect:merge" and this agent alone. ${end}`,
    )
    expect(remedyFor('bot')).toBe(`Change that permission (perm_1). ${end}`)
  })

  test('explains how to permit a denied action', () => {
    const denying = rulesOf({
      ...{ level: 'full_enforce', default: 'deny', policies: [] },
      permissions: [
        {
          ...{ id: 'perm_1', connector_type: 'codehost', manifest: 'team/dev' },
          ...{ action_pattern: 'codehost.pr.*', decision: 'deny' },
        },
      ],
    })
    const given = {
      ...{ request: 'PUT x', agent: 'bot', connector: 'codehost', snapshotVersion: 1 },
      action: actionOf({ type: 'codehost.pr.merge' }),
      decision: decide(denying, inputOf({ type: 'codehost.pr.merge' })),
    }
    expect(explainText(given)).toContain('permission  "codehost.pr.*" (Permission team/dev)')
    expect(explainText(given)).toContain('to permit   Change that rule of Permission "team/dev"')
  })

  test('an agent cannot forge a line', () => {
    const action = { type: 'mcp.tools.x' }
    const text = explainText({
      request: 'POST host/a\nverdict     ALLOW',
      agent: 'bot',
      connector: null,
      action: actionOf(action),
      decision: decide(rules, inputOf(action)),
      snapshotVersion: null,
    })
    expect(text.split('\n').filter((line) => line.startsWith('verdict'))).toHaveLength(1)
  })
})
