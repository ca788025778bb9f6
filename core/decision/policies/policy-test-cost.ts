import type { PolicyDocument } from '../../crd/policy/policy-document.ts'

/** Calls that cost more than a comparison: comprehensions (up to 64 elements) and regular expressions. */
const COSTLY_CALL = /\.\s*(?:all|exists|exists_one|map|filter|matches)\s*\(/g
const COSTLY_WEIGHT = 32
/** Characters of JSON that count as one test. A larger test counts as several. */
const TEST_UNIT = 1_024

/**
 * Returns the work of running a policy's tests, in evaluations of a condition with one comparison. One takes about 1.5
 * µs, during which the process is blocked.
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
