import type { PolicyDocument } from '../../crd/policy/policy-document.ts'

/** Matches calls that cost more than a comparison: comprehensions (up to 64 elements) and regular expressions. */
const COSTLY_CALL = /\.\s*(?:all|exists|exists_one|map|filter|matches)\s*\(/g
const COSTLY_WEIGHT = 32
/** Characters of JSON that count as one test; a larger test counts as several. */
const TEST_UNIT = 1_024

/**
 * Returns the cost of running a policy's tests. The unit is one evaluation of a condition with a single comparison,
 * which takes about 1.5 µs and blocks the event loop.
 */
export function policyTestCost({ rules, tests }: Pick<PolicyDocument, 'rules' | 'tests'>): number {
  const perTest = rules.reduce((sum, { conditions }) => sum + 1 + total(conditions.map(weightOf)), 0)
  return total(tests.map((test) => Math.ceil(JSON.stringify(test).length / TEST_UNIT))) * perTest
}

function weightOf(condition: string): number {
  return 1 + COSTLY_WEIGHT * [...condition.matchAll(COSTLY_CALL)].length
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}
