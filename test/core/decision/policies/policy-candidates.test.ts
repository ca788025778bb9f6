import { describe, expect, test } from 'vitest'
import { parsePattern } from '../../../../core/action/pattern.ts'
import { scoreRisk } from '../../../../core/action/risk.ts'
import { nameRulesOf } from '../../../../core/connectors/registry.ts'
import { compileCondition } from '../../../../core/decision/conditions/condition.ts'
import type { DecisionInput } from '../../../../core/decision/decision.ts'
import { placedInputs } from '../../../../core/decision/facts/environment.ts'
import { createFacts } from '../../../../core/decision/facts/facts.ts'
import type { CompiledPolicy } from '../../../../core/decision/policies/compiled-policy.ts'
import { buildPolicyIndex } from '../../../../core/decision/policies/policy-index.ts'
import { collectOpinions, opinionOf } from '../../../../core/decision/policies/policy-opinion.ts'
import fc from '../../../support/fast-check.ts'
import { LONG_MS, runs } from '../../properties/runs.ts'
import { inputOf, type PolicyText, policiesOf } from '../fixtures.ts'

const CONDITIONS = [
  'resource.target == "acme/site"',
  'resource.target == "acme/SITE.git"',
  '"acme/shop" == resource.target',
  'resource["target"] == "acme/site"',
  'resource.target == "acme/site" && action.effect == "write"',
  'action.effect == "write" && (context.base == "main" && risk.score > 10)',
  'context.base == "main"',
  'context.head == "feature"',
  'context["odd name"] == "x"',
  'context.base == context.head',
  'context.labels == "x"',
  'context.count == 3',
  'action.effect == "write"',
  'action.effect == "read" || context.base == "main"',
  '!(context.base == "main")',
  'has(context.base)',
  'resource.environment == "PRODUCTION"',
  'agent.name == "bot"',
  'request.method == "POST"',
  'context.base in ["main", "release"]',
  'resource.target.startsWith("acme/")',
  'context.labels && context.base == "main"',
  'context.base == "main" && context.count / 0 > 1',
  'context.labels[0] == "x" && (context.head == "feature" && context.base)',
  '(context.count == 3 ? context.base : context.head) == "main"',
  '["main"].exists(name, context.base == name) && context.head == "x"',
  'dyn(context.base) == "main"',
  'request.body.base == "main"',
  "context['base'] == 'm\\u0061in'",
]

const VALUES = fc.oneof(
  ...['main', 'MAIN', 'release', 'feature', 'x', ''].map((text) => fc.constant(text)),
  fc.constantFrom(3, null, true, ['x'], { x: 'x' }),
)
const CONTEXT = fc.dictionary(fc.constantFrom('base', 'head', 'labels', 'count', 'odd name'), VALUES)
const RULE = fc.record({
  conditions: fc.uniqueArray(fc.constantFrom(...CONDITIONS), { minLength: 1, maxLength: 3 }),
  decision: fc.constantFrom('allow', 'deny', 'require_approval'),
})
const POLICY = fc.record({
  rules: fc.array(RULE, { minLength: 1, maxLength: 3 }),
  action: fc.constantFrom('codehost.pr.merge', 'codehost.pr.*', 'CODEHOST.pr.merge', '*'),
  agents: fc.constantFrom([], ['bot'], ['other']),
  priority: fc.constantFrom(1, 2, 100),
})
const INPUT = fc.record({
  context: CONTEXT,
  effect: fc.constantFrom('read' as const, 'write' as const),
  target: fc.constantFrom(undefined, 'acme/site', 'Acme/Site', 'acme/shop', 'other/site'),
  environment: fc.constantFrom('production', 'staging'),
  isAnnounced: fc.boolean(),
})

type PolicyParts = {
  readonly rules: readonly { readonly conditions: readonly string[]; readonly decision: string }[]
  readonly action: string
  readonly agents: readonly string[]
  readonly priority: number
}

function policyText({ rules, action, agents, priority }: PolicyParts, n: number): PolicyText {
  const document = {
    scope: { actions: [action], agents },
    rules: rules.map((rule, at) => ({ name: `r${at}`, ...rule })),
  }
  return { id: `pol_${n}`, priority, yaml: JSON.stringify(document) }
}

/** Results of all policies, each evaluated alone. */
function resultsOfEach(policies: ReturnType<typeof policiesOf>, input: DecisionInput) {
  return placedInputs(input).map((placed) => {
    const facts = createFacts(placed, scoreRisk(placed.action, placed.isProduction))
    return policies.all.flatMap((policy) => opinionOf(policy, placed, facts) ?? [])
  })
}

function results(policies: ReturnType<typeof policiesOf>, input: DecisionInput) {
  return placedInputs(input).map((placed) => {
    const facts = createFacts(placed, scoreRisk(placed.action, placed.isProduction))
    return collectOpinions(policies, placed, facts)
  })
}

const merge = (target?: string, context: Record<string, unknown> = {}) => {
  const input = inputOf({ type: 'codehost.pr.merge' }, { context })
  return target === undefined
    ? input
    : { ...input, action: { ...input.action, resource: { ...input.action.resource, target } } }
}

/** Returns one denying policy for each repository. */
function perRepository(count: number, condition: (repository: string) => string): PolicyText[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `pol_${n}`,
    yaml: JSON.stringify({
      rules: [{ name: 'r', decision: 'deny', conditions: [condition(`acme/repo-${n}`)] }],
    }),
  }))
}

describe('policies indexed by what their rules compare', () => {
  test(
    'the results are those of all policies, each evaluated alone',
    () => {
      let matches = 0
      // Compiling takes most of the time, so each run draws from policies that were compiled before.
      const pool = policiesOf(fc.sample(POLICY, 200).map(policyText)).all
      const some = fc.subarray([...pool], { minLength: 6, maxLength: 24 })
      const property = fc.property(
        some,
        INPUT,
        (drawn, { context, target, effect, environment, isAnnounced }) => {
          const policies = buildPolicyIndex(drawn)
          const base = merge(target, context)
          const input = {
            ...base,
            isAnnounced,
            action: { ...base.action, effect },
            agent: { ...base.agent, environment },
          }
          const found = results(policies, input)
          matches += found.flat().length
          expect(found).toEqual(resultsOfEach(policies, input))
        },
      )
      fc.assert(property, runs(1_000))
      expect(matches).toBeGreaterThan(0)
    },
    LONG_MS,
  )

  test('only policies that name the value of the request are evaluated', () => {
    const policies = policiesOf(perRepository(500, (name) => `resource.target == "${name}"`))
    const [found] = results(policies, merge('ACME/Repo-7'))
    expect(found?.map(({ policy }) => policy.id)).toEqual(['pol_7'])
    expect(evaluated(policies, 'acme/repo-7')).toBe(1)
    expect(evaluated(policies, 'acme/other')).toBe(0)
  })

  test('policies with one id and version are told apart', () => {
    const patterns = ['codehost.pr.merge', 'codehost.pr.close']
    const policies = buildPolicyIndex(
      patterns.flatMap((action) => {
        const yaml = JSON.stringify({
          scope: { actions: [action] },
          rules: [{ name: action, decision: 'deny', conditions: ['true'] }],
        })
        return policiesOf([{ id: 'pol_1', yaml }]).all
      }),
    )
    const found = patterns.map((type) => policies.reaching(type).map(({ policy }) => policy.rules[0]?.name))
    expect(found).toEqual(patterns.map((pattern) => [pattern]))
  })

  test('a key with half of a surrogate pair stays a valid condition', () => {
    const condition = compileCondition('context["\ud800"] == "x"', { rule: 'r', index: 0 })
    expect(condition.programFor(null).guards).toEqual([])
  })

  test('action names that an agent chooses cannot make the index grow without bound', () => {
    const [plain] = policiesOf(perRepository(1, (name) => `resource.target == "${name}"`)).all
    if (plain === undefined) throw new Error('no policy')
    const named = (id: string, action: string): CompiledPolicy => ({
      ...{ ...plain, id, ref: `${id}@1`, patterns: [parsePattern(action)] },
    })
    const count = 400
    const each = Array.from({ length: count }, (_, n) => [
      named(`pol_a${n}`, 'mcp.tools.*'),
      named(`pol_b${n}`, `mcp.tools.tool_${n}`),
    ])
    const policies = buildPolicyIndex(each.flat())
    const first = policies.reaching('mcp.tools.tool_0')
    expect(policies.reaching('mcp.tools.tool_0')).toBe(first)
    for (let n = 1; n < count; n++) policies.reaching(`mcp.tools.tool_${n}`)
    expect(policies.reaching('mcp.tools.tool_0')).not.toBe(first)
    expect(policies.reaching('mcp.tools.tool_0')).toEqual(first)
  })

  test('a fact without a text makes all policies that compare it candidates', () => {
    const policies = policiesOf(perRepository(20, (name) => `context.repository == "${name}"`))
    const [found] = results(policies, merge('acme/repo-7'))
    expect(found).toHaveLength(20)
    expect(found?.[0]?.error).toContain('could not be evaluated')
  })

  test('a condition of many policies is evaluated once', () => {
    let reads = 0
    const shared = policiesOf(perRepository(20, () => 'context.note.startsWith("x")'))
    const input = merge('acme/site', { note: 'y' })
    const facts = createFacts(
      { ...input, environment: 'development', isProduction: false },
      scoreRisk(input.action, false),
    )
    const counted = new Proxy(facts, {
      get(target, name, receiver) {
        if (name === 'context') reads += 1
        return Reflect.get(target, name, receiver)
      },
    })
    collectOpinions(shared, { ...input, environment: 'development', isProduction: false }, counted)
    expect(reads).toBe(1)
  })
})

/** Number of policies that a decision about this target evaluates. */
function evaluated(policies: ReturnType<typeof policiesOf>, target: string): number {
  const input = { ...merge(target), environment: 'development', isProduction: false }
  const facts = createFacts(input, scoreRisk(input.action, false))
  const rules = nameRulesOf(input.action.connector)
  return policies.candidates(input.action.type, rules).of(facts).length
}
