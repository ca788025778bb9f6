import type * as z from 'zod'
import type { KnownAction } from '../../action/spec.ts'
import type { PolicyDocument, PolicyRule } from '../../crd/policy/policy-document.ts'
import type { PolicyTest } from '../../crd/policy/policy-test.ts'
import { ChaperoneError } from '../../errors.ts'
import { problemText } from '../../problem.ts'
import { isAmbiguous } from '../../storable.ts'
import { parsePolicyYaml } from './policy-document.ts'
import { runPolicyTests } from './policy-tests.ts'
import { withItem } from './yaml-item.ts'

/** Facts of a held request by which an exception distinguishes it from other requests. */
export type ExceptionFacts = {
  readonly approvalId: string
  readonly agent: string
  readonly actionType: string
  /** Type of the connector. */
  readonly connector: string
  /** Target of the request; null for a request without a target. */
  readonly target: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  /** Method, host and path of the request; null for an action without a request. */
  readonly request: { readonly method: string; readonly host: string; readonly path: string } | null
}

export type ExceptionChoice = {
  /** Name of the rule that holds the request. */
  readonly rule: string
  /** `same`: only requests for the target of the held request. */
  readonly target: 'same' | 'any'
}

export type PolicyException =
  | {
      readonly obstacle: null
      /** Policy text with the exception. */
      readonly text: string
      /** Name of the rule that the exception adds. */
      readonly rule: string
      /** True if the policy text contains a test which proves that the exception allows the request. */
      readonly isTested: boolean
    }
  | { readonly obstacle: string }

/**
 * Adds an exception to the text of a policy: a rule with the decision `allow` directly before the rule that holds the
 * request, with all conditions of that rule and the facts of the request. The exception therefore covers only requests
 * that this rule would hold, and denials by earlier rules and other policies still apply. Comments of the text stay.
 * Returns the reason, as a sentence, if the text can have no such exception.
 */
export function withException(
  text: string,
  facts: ExceptionFacts,
  choice: ExceptionChoice,
  knownAction: (type: string) => KnownAction | null,
): PolicyException {
  try {
    return addException(text, facts, choice, knownAction)
  } catch (error) {
    if (!isInvalid(error)) throw error
    const [first] = error.options.problems ?? []
    const problem = first === undefined ? error.message : problemText(first)
    return { obstacle: `The exception was not added, because the policy with it is invalid: ${problem}` }
  }
}

function addException(
  text: string,
  facts: ExceptionFacts,
  choice: ExceptionChoice,
  knownAction: (type: string) => KnownAction | null,
): PolicyException {
  const { document } = parsePolicyYaml(text)
  const index = document.rules.findIndex(
    ({ name, decision }) => name === choice.rule && decision === 'require_approval',
  )
  const held = document.rules[index]
  if (held === undefined)
    return { obstacle: `The policy has no rule "${choice.rule}" that requires approval. Edit the policy.` }
  if (choice.target === 'same' && facts.target !== null && isAmbiguous(facts.target))
    return { obstacle: 'The target contains characters that a condition cannot compare. Edit the policy.' }
  const rule = exceptionRule(document, held, { facts, choice })
  const isRight = (changed: string) => isInsertion(document, parsePolicyYaml(changed).document, index)
  const withRule = withItem(text, { key: 'rules', index, item: rule }, isRight)
  if (withRule === null)
    return { obstacle: 'The exception cannot be added to this YAML text automatically. Edit the policy.' }
  const added = { obstacle: null, rule: rule.name }
  for (const test of possibleTests(facts, held, rule)) {
    const tested = withTest(withRule, test, isRight)
    if (tested !== null && passes(tested, test.name, knownAction))
      return { ...added, text: tested, isTested: true }
  }
  return { ...added, text: withRule, isTested: false }
}

function isInvalid(error: unknown): error is ChaperoneError {
  return error instanceof ChaperoneError && error.code === 'validation'
}

type TestInput = z.input<typeof PolicyTest>

type AddedRule = Pick<PolicyRule, 'name' | 'conditions' | 'decision' | 'reason'>

function exceptionRule(
  { rules }: PolicyDocument,
  held: PolicyRule,
  { facts, choice }: { readonly facts: ExceptionFacts; readonly choice: ExceptionChoice },
): AddedRule {
  const names = new Set(rules.map(({ name }) => name))
  return {
    name: freeName(`${held.name.slice(0, MAX_STEM)}-exception`, names),
    conditions: [
      `agent.name == ${celText(facts.agent)}`,
      `action.type == ${celText(facts.actionType)}`,
      ...(choice.target === 'any' ? [] : [targetCondition(facts.target)]),
      ...held.conditions,
    ],
    decision: 'allow',
    reason: `Exception from approval ${facts.approvalId}`,
  }
}

/**
 * Maximum length of the first part of a rule's name. A suffix and a number follow, and the whole name may have at most
 * 128 characters.
 */
const MAX_STEM = 100

function freeName(stem: string, taken: ReadonlySet<string>): string {
  let name = stem
  for (let count = 2; taken.has(name); count++) name = `${stem}-${count}`
  return name
}

/**
 * Returns a condition on the target. `resource.target` is decoded, so a target with a percent escape is compared with
 * `resource.raw_target`.
 */
function targetCondition(target: string | null): string {
  if (target === null) return '!has(resource.target)'
  const fact = target.includes('%') ? 'resource.raw_target' : 'resource.target'
  return `${fact} == ${celText(target)}`
}

/**
 * Returns a text as a CEL literal. Agents choose targets, so characters without a visible form, such as those that
 * reverse the direction of a line, are escaped.
 */
function celText(text: string): string {
  return JSON.stringify(text).replaceAll(HIDDEN, (char) => {
    const code = char.codePointAt(0) ?? 0
    return code > 0xffff
      ? `\\U${code.toString(16).padStart(8, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\u00a0\u2000-\u200a\u3000]/gu

/** Maximum length of a parameter value in a test, in characters. */
const MAX_VALUE = 200

/**
 * Returns tests that may show that the exception covers the request: one test of the action alone, and one with the
 * method, host and path of the request. The tests do not contain the environment, risk hints and body of the request.
 * If the rule has conditions on these facts, all tests may fail.
 */
function possibleTests(facts: ExceptionFacts, held: PolicyRule, rule: AddedRule): readonly TestInput[] {
  const { agent, actionType: type, connector, target, request } = facts
  const read = held.conditions.join('\n')
  const parameters = Object.entries(facts.parameters).filter(
    ([name, value]) => read.includes(name) && JSON.stringify(value).length <= MAX_VALUE,
  )
  const resource = { provider: connector, ...(target === null ? {} : { target }) }
  const test: TestInput = {
    name: `${rule.name} covers ${type} of ${agent}`.slice(0, 200),
    action: {
      type,
      resource,
      ...(parameters.length === 0 ? {} : { parameters: Object.fromEntries(parameters) }),
    },
    agent: { name: agent },
    expect: { outcome: 'allow', rule: rule.name },
  }
  const tests = [test, ...(request === null ? [] : [{ ...test, request: withoutQuery(request) }])]
  // Removes tests with hidden characters, because YAML would contain these characters unescaped.
  return tests.filter((one) => JSON.stringify(one).search(HIDDEN) === -1)
}

function withoutQuery({ path, ...request }: NonNullable<ExceptionFacts['request']>) {
  return { ...request, path: path.split('?', 1)[0] }
}

/**
 * Adds a test. Returns null if the text cannot be changed, or if the policy with the test is invalid, for example
 * because it has too many tests.
 */
function withTest(text: string, item: TestInput, isRight: (changed: string) => boolean): string | null {
  try {
    return withItem(text, { key: 'tests', index: 0, item }, isRight)
  } catch (error) {
    if (isInvalid(error)) return null
    throw error
  }
}

/**
 * Runs the tests of the policy, and reports whether the named test passes. Returns false also if all tests together are
 * too expensive.
 */
function passes(text: string, name: string, knownAction: (type: string) => KnownAction | null): boolean {
  try {
    return runPolicyTests(parsePolicyYaml(text).document, knownAction).some(
      (test) => test.name === name && test.passed,
    )
  } catch (error) {
    if (isInvalid(error)) return false
    throw error
  }
}

/** Reports whether `after` differs from `before` only by one rule at the index, and by tests at the beginning. */
function isInsertion(before: PolicyDocument, after: PolicyDocument, index: number): boolean {
  const without = {
    ...after,
    rules: after.rules.toSpliced(index, 1),
    tests: after.tests.slice(after.tests.length - before.tests.length),
  }
  return after.rules.length === before.rules.length + 1 && JSON.stringify(without) === JSON.stringify(before)
}
