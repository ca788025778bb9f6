import { fold } from '../../action/pattern.ts'
import { isProductionAction, scoreRisk } from '../../action/risk.ts'
import { actionFromSpec, type KnownAction } from '../../action/spec.ts'
import type { PolicyDocument } from '../../crd/policy/policy-document.ts'
import type { PolicyTest } from '../../crd/policy/policy-test.ts'
import { ChaperoneError } from '../../errors.ts'
import { type Problem, problemText } from '../../problem.ts'
import { epochMsOf } from '../conditions/condition.ts'
import type { RequestFacts } from '../decision.ts'
import type { PlacedInput } from '../facts/environment.ts'
import { createFacts } from '../facts/facts.ts'
import { OUTCOME, type Outcome } from '../vocabulary.ts'
import { compilePolicy } from './compile-policy.ts'
import { type CompiledPolicy, isInScope, reachOf } from './compiled-policy.ts'
import { opinionOf } from './policy-opinion.ts'
import { policyTestCost } from './policy-test-cost.ts'

export type PolicyTestResult = {
  readonly name: string
  readonly passed: boolean
  readonly expected: string
  readonly got: string
  /** Name of the rule that decided; null if the policy did not match. */
  readonly rule: string | null
}

/** Default of `now` in tests, as Unix time in milliseconds. The value is constant so that results are reproducible. */
const DEFAULT_NOW_MS = 1_767_268_800_000

/**
 * Maximum cost of one run, in the unit of `policyTestCost`; about 0.2 s. Tenants choose the texts, and a process
 * delivers kill switches late while it runs tests.
 */
const MAX_COST = 128 * 1_024

/**
 * Runs the tests of a policy against that policy alone. `knownAction` finds an action name in the catalogue, for
 * conditions on risk and effect. Without `knownAction`, every action is a write of medium risk. Throws ChaperoneError
 * `validation` if a condition does not compile or the tests are too expensive.
 */
export function runPolicyTests(
  document: PolicyDocument,
  knownAction: (type: string) => KnownAction | null = () => null,
): readonly PolicyTestResult[] {
  refuseCostly(document)
  const policy = compilePolicy({
    id: 'pol_test',
    name: 'test',
    version: 1,
    priority: 0,
    mode: 'enforce',
    document,
  })
  return document.tests.map((test) => runTest(policy, test, knownAction(test.action.type)))
}

/** Runs the tests of a policy like `runPolicyTests`. Returns the failure of each failed test as text. */
export function judgePolicyTests(
  document: PolicyDocument,
  knownAction: (type: string) => KnownAction | null,
): ReadonlyArray<{ readonly name: string; readonly passed: boolean; readonly failure?: string }> {
  return runPolicyTests(document, knownAction).map(({ name, passed, expected, got }) =>
    passed ? { name, passed } : { name, passed, failure: `expected ${expected}, got ${got}` },
  )
}

function refuseCostly(document: PolicyDocument): void {
  const cost = policyTestCost(document)
  if (cost <= MAX_COST) return
  const message = `The ${document.tests.length} tests of the policy take too long (${cost} steps, at most ${MAX_COST}). Remove tests, or divide the policy into several.`
  const problem: Problem = { code: 'tests', field: 'tests', line: null, message }
  throw new ChaperoneError('validation', { detail: problemText(problem), problems: [problem] })
}

function runTest(policy: CompiledPolicy, test: PolicyTest, known: KnownAction | null): PolicyTestResult {
  const input = inputOf(test, known)
  const opinion = opinionOf(policy, input, createFacts(input, scoreRisk(input.action, input.isProduction)))
  const outcome: Outcome | 'no_opinion' = opinion === null ? 'no_opinion' : OUTCOME[opinion.rule.verdict]
  const rule = opinion?.rule.name ?? null
  const { expect } = test
  return {
    name: test.name,
    passed: outcome === expect.outcome && (expect.rule === undefined || expect.rule === rule),
    expected: describe(expect.outcome, expect.rule),
    got: describe(outcome, rule ?? undefined),
    rule,
  }
}

/** Reports whether the scope of a policy covers the action of one of its tests. */
export function coversTest(policy: CompiledPolicy, test: PolicyTest): boolean {
  const input = inputOf(test, null)
  return isInScope(policy, input) && reachOf(policy, input.action.type) !== 'none'
}

function inputOf(test: PolicyTest, known: KnownAction | null): PlacedInput {
  const { name, environment } = test.agent
  const action = actionFromSpec(test.action, known)
  return {
    action,
    environment: fold(action.resource.environment ?? environment),
    // The agent's default environment is `production`. The risk ignores the agent's environment, because otherwise
    // every test without an environment would test a production action.
    isProduction: isProductionAction(action),
    agent: { id: `agent_${name}`, name, environment, runtime: 'test', status: 'active' },
    ...(test.request === undefined ? {} : { request: requestOf(test.request) }),
    context: test.action.context,
    nowMs: (test.now === undefined ? null : epochMsOf(test.now)) ?? DEFAULT_NOW_MS,
  }
}

function requestOf({ headers, ...request }: NonNullable<PolicyTest['request']>): RequestFacts {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const segments = request.path.split('/').filter((segment) => segment !== '')
  return { ...request, segments, raw_path: request.path, headers: Object.fromEntries(named) }
}

function describe(outcome: string, rule: string | undefined): string {
  return rule === undefined ? outcome : `${outcome} by rule ${rule}`
}
