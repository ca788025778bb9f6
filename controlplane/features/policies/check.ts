import type { KnownAction } from '../../../core/action/spec.ts'
import {
  assertRepeatedFieldsAgree,
  type ParsedPolicy,
  parsePolicyYaml,
  type RepeatedFields,
} from '../../../core/decision/policies/policy-document.ts'
import { runPolicyTests } from '../../../core/decision/policies/policy-tests.ts'
import { emptyGroupWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { fieldText, type Problem } from '../../../core/problem.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import type { PolicyCheckReply, PolicyProblem } from '../../../core/wire/policies.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import type { GroupMembers } from '../authentication/cluster/group-members.ts'
import { listGroupsIn } from '../users/rows.ts'

/**
 * Returns the problems of a policy text and the results of its tests. Stores nothing. Does not throw for an invalid
 * text.
 */
export type PolicyCheck = (
  namespaces: Namespaces,
  policyYaml: string,
  record: RepeatedFields & { readonly namespace?: string | undefined },
) => Promise<PolicyCheckReply>

export function createPolicyCheck(deps: {
  readonly read: ScopedReads
  readonly knownAction: (type: string) => KnownAction | null
  /** Reports whether RBAC lets approver groups without accounts answer approvals. */
  readonly members: GroupMembers
}): PolicyCheck {
  const { members } = deps
  return async (namespaces, policyYaml, { namespace: given, ...record }) => {
    const parsed = problemsOr(() => parsePolicyYaml(policyYaml))
    if ('problems' in parsed) return { ok: false, ...parsed, tests: [], warnings: [] }
    const reply = examine(parsed.value, record, deps.knownAction)
    const { document } = parsed.value
    const namespace = placeOf(namespaces, given)
    await members.ask(async () => [{ namespace, spec: document }])
    const accounts = await listGroupsIn(deps.read(namespaces))
    const empty = emptyGroupWarnings(document, accounts, members.absence(namespace))
    return { ...reply, warnings: [...reply.warnings, ...empty] }
  }
}

/**
 * Returns the namespace in which the approver groups of the policy answer approvals. Uses the given namespace
 * if the caller has access to it, otherwise the caller's only namespace, otherwise the empty string, which
 * means all namespaces.
 */
function placeOf(namespaces: Namespaces, given: string | undefined): string {
  if (given !== undefined && covers(namespaces, given)) return given
  const [only, second] = namespaces === 'all' ? [] : [...namespaces]
  return only !== undefined && second === undefined ? only : ''
}

function examine(
  parsed: ParsedPolicy,
  record: RepeatedFields,
  knownAction: (type: string) => KnownAction | null,
): PolicyCheckReply {
  const agreed = problemsOr(() => assertRepeatedFieldsAgree(parsed.repeated, record))
  const problems = 'problems' in agreed ? agreed.problems : []
  const warnings = [...parsed.warnings]
  const run = problemsOr(() => runPolicyTests(parsed.document, knownAction))
  if ('problems' in run) return { ok: false, problems: [...problems, ...run.problems], tests: [], warnings }
  const tests = run.value.map(({ name, passed, expected, got }) =>
    passed ? { name, passed } : { name, passed, failure: `expected ${expected}, got ${got}` },
  )
  const ok = problems.length === 0 && tests.every(({ passed }) => passed)
  return { ok, problems, tests, warnings }
}

function problemsOr<T>(work: () => T): { readonly value: T } | { readonly problems: PolicyProblem[] } {
  try {
    return { value: work() }
  } catch (error) {
    if (!(error instanceof ChaperoneError) || error.code !== 'validation') throw error
    const whole: Problem = { code: 'text', field: null, line: null, message: error.message }
    return { problems: (error.options.problems ?? [whole]).map(policyProblem) }
  }
}

function policyProblem(problem: Problem): PolicyProblem {
  const { code, field, line } = problem
  return { code, field, line, message: fieldText(problem) }
}
