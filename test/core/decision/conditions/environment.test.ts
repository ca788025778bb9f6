import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../core/decision/conditions/condition.ts'
import { decide } from '../../../../core/decision/decide.ts'
import type { DecisionInput } from '../../../../core/decision/decision.ts'
import { strictness } from '../../../../core/decision/vocabulary.ts'
import { inputOf, type PolicyText, rulesOf } from '../fixtures.ts'

type Given = {
  readonly claim?: string
  readonly hints?: Record<string, boolean>
  readonly agent?: string
  readonly gateway?: string
  readonly connector?: string
}

function input({ claim, hints, agent = 'development', gateway, connector }: Given): DecisionInput {
  const named = (name: string, environment: string | undefined) =>
    environment === undefined ? { name } : { name, environment }
  const action = {
    type: 'app.deploy',
    ...(claim === undefined ? {} : { environment: claim }),
    ...(hints === undefined ? {} : { hints }),
  }
  return {
    ...inputOf(action, { agent: { environment: agent } }),
    gateway: named('team/g', gateway),
    connector: { ...named('c', connector), type: 'app' },
  }
}

const policy = (rules: string, scope = ''): PolicyText => ({
  id: 'pol_a',
  yaml: `scope: { actions: ["app.*"]${scope} }\nrules:\n${rules}`,
})
const REST = "  - { name: rest, conditions: ['true'], decision: allow }"

function verdict(given: Given, ...policies: PolicyText[]) {
  const base = { id: 'pol_base', priority: 1, yaml: `scope: { actions: ["app.*"] }\nrules:\n${REST}` }
  const rules = rulesOf({
    ...{ level: null, default: 'deny', permissions: null },
    policies: [...policies, base],
  })
  return decide(rules, input(given))
}

const PRODUCTION_ONLY = policy(
  "  - { name: p, conditions: ['true'], decision: require_approval }",
  ', environments: [production]',
)

describe('the installation determines the environment of an action', () => {
  test.each([
    ['the connector', { connector: 'production', gateway: 'staging', agent: 'development' }, 'hold'],
    [
      'the connector, though the gateway is stricter',
      { connector: 'staging', gateway: 'production' },
      'allow',
    ],
    ['the gateway', { gateway: 'production', agent: 'development' }, 'hold'],
    ['the gateway, though the agent is stricter', { gateway: 'staging', agent: 'production' }, 'allow'],
    ['the agent', { agent: 'production' }, 'hold'],
    ['the agent, in another case', { agent: 'PRODUCTION' }, 'hold'],
    ['the gateway, in another case', { gateway: 'Production' }, 'hold'],
    ['the connector, in another case', { connector: 'ProDuction', agent: 'development' }, 'hold'],
  ])('%s', (_who, given, wanted) => {
    expect(verdict(given, PRODUCTION_ONLY).verdict).toBe(wanted)
  })

  test.each([
    ['staging'],
    ['STAGING'],
    ['development'],
    [''],
    [' production'],
    ['prod'],
    ['production\u0000'],
    ['*'],
    ['prod*'],
    ['__proto__'],
  ])('a claim of %j does not lead out of the scope of a rule', (claim) => {
    for (const place of ['agent', 'gateway', 'connector'] as const) {
      const { verdict: got } = verdict({ claim, [place]: 'production' }, PRODUCTION_ONLY)
      expect([place, got]).toEqual([place, 'hold'])
    }
  })

  test.each([['production'], ['Production'], ['PRODUCTION'], ['pRoDuCtIoN']])(
    'a claim of %j leads into the scope of a rule, and counts as production',
    (claim) => {
      for (const place of ['agent', 'gateway', 'connector'] as const) {
        const decision = verdict({ claim, [place]: 'staging' }, PRODUCTION_ONLY)
        expect(decision).toMatchObject({ verdict: 'hold' })
        expect(decision.riskFactors).toContain('production +0.1')
        expect(decision.reason).toContain('The caller stated')
      }
    },
  )

  test('a scope is compared without case, with a trailing star too', () => {
    const upper = policy(
      "  - { name: p, conditions: ['true'], decision: deny }",
      ', environments: [PRODUCTION]',
    )
    const star = policy("  - { name: p, conditions: ['true'], decision: deny }", ', environments: ["Prod*"]')
    for (const scoped of [upper, star]) {
      expect(verdict({ agent: 'production' }, scoped).verdict).toBe('deny')
      expect(verdict({ agent: 'Production', claim: 'staging' }, scoped).verdict).toBe('deny')
      expect(verdict({ agent: 'staging', claim: 'PRODUCTION' }, scoped).verdict).toBe('deny')
      expect(verdict({ agent: 'staging' }, scoped).verdict).toBe('allow')
    }
  })
})

describe('facts and risk', () => {
  const denies = (condition: string) =>
    policy(`  - { name: d, conditions: ['${condition}'], decision: deny }`)
  const CONDITIONS = [
    'resource.environment == "production"',
    'resource.environment == "Production"',
    '"PRODUCTION" == resource.environment',
    'resource.environment in ["Production", "live"]',
    'resource["environment"] == "Production"',
    '"Production" in [resource.environment]',
    'resource.environment.startsWith("Prod")',
    'resource.environment.endsWith("DUCTION")',
    'resource.environment.contains("ROD")',
    'resource.environment.matches("^Prod.*$")',
    '["Production", "Live"].exists(e, e == resource.environment)',
    '["Production", "Live"].exists(e, resource.environment.startsWith(e))',
    '!(resource.environment != "Production")',
    'resource.environment == (true ? "Production" : "x")',
    'hints.production_target',
    'risk.factors.exists(f, f.startsWith("production"))',
  ]

  test.each(CONDITIONS)('%s denies if the environment of the installation is production', (condition) => {
    for (const agent of ['production', 'Production', 'PRODUCTION']) {
      for (const claim of [undefined, 'staging', 'Staging', '', 'dev']) {
        const given = claim === undefined ? { agent } : { agent, claim }
        expect([agent, claim, verdict(given, denies(condition)).verdict]).toEqual([agent, claim, 'deny'])
      }
    }
    expect(verdict({ agent: 'staging', claim: 'PRODUCTION' }, denies(condition)).verdict).toBe('deny')
    expect(verdict({ agent: 'staging' }, denies(condition)).verdict).toBe('allow')
  })

  test.each([
    ['agent.environment == "Production"', { agent: 'PRODUCTION' }],
    ['gateway.environment == "Production"', { gateway: 'production' }],
    ['connector.environment in ["Production"]', { connector: 'pRODUCTION' }],
    ['agent.environment != "Staging" && agent.environment != "DEVELOPMENT"', { agent: 'production' }],
  ])('%s is compared without case', (condition, given) => {
    expect(verdict(given, denies(condition)).verdict).toBe('deny')
  })

  test('other literals keep their case', () => {
    expect(
      verdict({ agent: 'Production' }, denies('agent.name == "BOT" && agent.environment == "Production"'))
        .verdict,
    ).toBe('allow')
    expect(verdict({}, denies('["A"].exists(e, e == "A")')).verdict).toBe('deny')
  })

  test('a rule that allows outside production cannot be reached by a claim', () => {
    const allows = policy(
      `  - { name: a, conditions: ['resource.environment != "production"'], decision: allow }
  - { name: h, decision: require_approval }`,
    )
    expect(verdict({ agent: 'production', claim: 'staging' }, allows).verdict).toBe('hold')
    expect(verdict({ agent: 'staging', claim: 'production' }, allows).verdict).toBe('hold')
    expect(verdict({ agent: 'staging', claim: 'STAGING' }, allows).verdict).toBe('allow')
  })

  test('a rule that allows production alone cannot be reached by a claim or a hint', () => {
    const allows = policy(
      `  - { name: a, conditions: ['hints.production_target || resource.environment == "production"'], decision: allow }
  - { name: d, decision: deny }`,
    )
    expect(verdict({ agent: 'staging', claim: 'production' }, allows).verdict).toBe('deny')
    expect(verdict({ agent: 'staging', hints: { production_target: true } }, allows).verdict).toBe('deny')
    expect(verdict({ agent: 'production', claim: 'staging' }, allows).verdict).toBe('allow')
    expect(verdict({ agent: 'production' }, allows).verdict).toBe('allow')
  })

  test('a claimed production adds its risk to rules of the real environment', () => {
    const risky = policy(
      "  - { name: r, conditions: ['risk.score >= 0.6'], decision: deny }",
      ', environments: [staging]',
    )
    expect(verdict({ agent: 'staging' }, risky).verdict).toBe('allow')
    expect(verdict({ agent: 'staging', claim: 'Production' }, risky).verdict).toBe('deny')
    expect(verdict({ agent: 'staging', hints: { production_target: true } }, risky).verdict).toBe('deny')
  })

  test('an equal claim is not in the reason', () => {
    const plain = verdict({ agent: 'production' }, PRODUCTION_ONLY)
    for (const claim of ['production', 'Production', 'PRODUCTION']) {
      expect(verdict({ agent: 'production', claim }, PRODUCTION_ONLY)).toEqual(plain)
    }
  })
})

test('no claim and no hint ever loosens a decision', () => {
  const names = ['production', 'Production', 'staging', 'STAGING', 'development', '']
  const rules = [
    PRODUCTION_ONLY,
    policy('  - { name: d, conditions: [\'resource.environment == "staging"\'], decision: deny }'),
    policy("  - { name: d, conditions: ['!hints.production_target'], decision: require_approval }"),
    policy("  - { name: d, conditions: ['risk.score < 0.55'], decision: deny }"),
    policy('  - { name: a, decision: allow }', ', environments: [staging]'),
  ]
  for (const agent of ['production', 'staging']) {
    for (const rule of rules) {
      const before = verdict({ agent }, rule)
      for (const claim of names) {
        for (const hints of [undefined, { production_target: true }, { production_target: false }]) {
          const after = verdict({ agent, claim, ...(hints === undefined ? {} : { hints }) }, rule)
          expect(strictness(after.verdict)).toBeGreaterThanOrEqual(strictness(before.verdict))
          expect(strictness(after.would)).toBeGreaterThanOrEqual(strictness(before.would))
        }
      }
    }
  }
})

describe('a text in capitals that meets an environment and is not folded', () => {
  const compile = (condition: string) => () => compileCondition(condition, { rule: 'r', index: 0 })

  test.each([
    'string(agent.environment) == "Production"',
    'agent.environment in {"Production": 1}',
    '(has(agent.name) ? agent : connector).environment == "Production"',
    '[agent, gateway].exists(owner, owner.environment == "Production")',
    '[agent][0].environment == "Production"',
    'dyn(agent).environment == "Production"',
    '{"e": agent.environment}.e == "Production"',
    '{"a": agent}.a.environment == "Production"',
    '[agent.environment].exists(e, string(e) == "Production")',
    '[agent.environment].map(e, e)[0] == "Production"',
    'string(agent.environment).matches("^Prod")',
  ])('%s is refused with the correction', (condition) => {
    expect(compile(condition)).toThrow(/environments are in lower case, so ".*" never matches: write "/)
  })

  test.each([
    'string(agent.environment) == "production"',
    'agent.environment == "Production" && agent.name == "Bot"',
    '[agent].exists(a, a.name == "Bot" && a.environment == "production")',
    '(agent.environment == "Production" ? "A" : "B") == parameters.size',
    'parameters.deployments.exists(d, d.environment == "Production")',
    'context.agent.environment == "Production"',
    'agent.environment.matches("(?i)^Prod")',
    'agent.name + "-Prod" == agent.environment',
    'size(agent.environment) > 3 && context.x == "Y"',
  ])('%s compiles', (condition) => {
    expect(compile(condition)).not.toThrow()
  })
})
