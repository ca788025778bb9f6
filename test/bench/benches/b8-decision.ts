import { scoreRisk } from '../../../core/action/risk.ts'
import type { PlacedInput } from '../../../core/decision/facts/environment.ts'
import { createFacts } from '../../../core/decision/facts/facts.ts'
import type { PermissionIndex } from '../../../core/decision/permissions/permission-index.ts'
import { lookupPermission } from '../../../core/decision/permissions/permissions.ts'
import { collectOpinions } from '../../../core/decision/policies/policy-opinion.ts'
import type { PermissionEntry } from '../../../core/wire/gateway/sync.ts'
import { inputOf, policiesOf } from '../../core/decision/fixtures.ts'
import { buildPermissionIndex } from '../../support/permission-index.ts'
import type { Bench } from '../main.ts'
import { absolute } from '../support/report.ts'

/**
 * Permission look-up at 10 and 100,000 rules. What covers an action name is remembered, and a gateway sees the same
 * names again and again; what a name costs that was never asked before is a row of its own.
 */
export const decision: Bench = async () => {
  const small = lookupNs(10)
  const large = lookupNs(100_000)
  return [
    absolute('B8', 'permission look-up ns at 10 rules', small, null),
    absolute('B8', 'permission look-up ns at 100,000 rules', large, 200),
    absolute('B8', 'cost(100k) / cost(10)', large / small, 4),
    absolute('B8', 'the same, name never asked before: ns at 10 rules', firstLookupNs(10), null),
    absolute('B8', 'the same, name never asked before: ns at 100,000', firstLookupNs(100_000), null),
    absolute(
      'B8',
      '20 policies that match: us a decision',
      policiesUs(20, () => 'action.effect == "write"'),
      5,
    ),
    absolute(
      'B8',
      '500 policies, each about one repository: us a decision',
      policiesUs(500, (n) => `resource.target == "acme/repo-${n}"`),
      30,
    ),
  ]
}

/** All policies are about the action; each request is about another repository. */
function policiesUs(count: number, condition: (n: number) => string): number {
  const policies = policiesOf(
    Array.from({ length: count }, (_, n) => ({
      id: `pol_${n}`,
      yaml: JSON.stringify({ rules: [{ name: 'r', decision: 'deny', conditions: [condition(n)] }] }),
    })),
  )
  const inputs = Array.from({ length: 500 }, (_, n) => placed(`acme/repo-${n}`))
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 12; round += 1) {
    let matches = 0
    const startedAt = process.hrtime.bigint()
    for (const input of inputs)
      matches += collectOpinions(policies, input, createFacts(input, scoreRisk(input.action, false))).length
    best = Math.min(best, Number(process.hrtime.bigint() - startedAt) / inputs.length / 1e3)
    if (matches === 0) throw new Error('no policy matched: the benchmark measures nothing')
  }
  return best
}

function placed(target: string): PlacedInput {
  const input = inputOf({ type: 'codehost.pr.merge' })
  const action = { ...input.action, resource: { ...input.action.resource, target } }
  return { ...input, action, environment: 'development', isProduction: false }
}

/** Each name once, on an index that remembers nothing yet. */
function firstLookupNs(rules: number): number {
  const entries = Array.from({ length: rules }, (_, i) => entry(i))
  const types = Array.from({ length: 4_096 }, (_, i) => `codehost.thing_${(i * 7_919) % rules}.verb_${i}`)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 6; round += 1) {
    best = Math.min(best, roundNs(buildPermissionIndex(entries), { types, passes: 1 }))
  }
  return best
}

function lookupNs(rules: number): number {
  const index = buildPermissionIndex(Array.from({ length: rules }, (_, i) => entry(i)))
  // As many different types as there are rules, up to 4,096, so that no memo of the last few answers the question.
  const types = Array.from({ length: 4_096 }, (_, i) => `codehost.thing_${(i * 7_919) % rules}.verb_${i % 3}`)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 12; round += 1) best = Math.min(best, roundNs(index, { types, passes: 25 }))
  return best
}

type Round = { readonly types: readonly string[]; readonly passes: number }

function roundNs(index: PermissionIndex, { types, passes }: Round): number {
  let matches = 0
  const startedAt = process.hrtime.bigint()
  for (let pass = 0; pass < passes; pass += 1) {
    for (const type of types) if (lookupPermission(index, 'agent-1', type) !== null) matches += 1
  }
  const ns = Number(process.hrtime.bigint() - startedAt) / (passes * types.length)
  if (matches === 0) throw new Error('no look-up matched: the benchmark measures nothing')
  return ns
}

function entry(i: number): PermissionEntry {
  const pattern = i % 3 === 0 ? `codehost.thing_${i}.*` : `codehost.thing_${i}.verb_${i % 3}`
  return {
    id: `perm_${i}`,
    agent: i % 10 === 0 ? 'agent-1' : '*',
    connector_type: 'codehost',
    action_pattern: pattern,
    decision: i % 5 === 0 ? 'deny' : 'allow',
    reason: null,
    source: 'file',
    managed_by: null,
  }
}
