import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { checkManifest, readManifestFiles } from '../../../../controlplane/cli/manifests/manifest-files.ts'
import { policyProblems } from '../../../../controlplane/cli/manifests/policy-problems.ts'
import { AGENT_PROGRAMS } from '../../../../controlplane/cli/run/agent-programs.ts'
import { STARTER_DIR } from '../../../../controlplane/cli/up/starter-manifests.ts'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { policyDocumentOf } from '../../../../core/crd/policy/policy-spelling.ts'
import { decide } from '../../../../core/decision/decide.ts'
import { permissionWarnings } from '../../../../core/decision/permissions/permission-warnings.ts'
import { compilePolicy } from '../../../../core/decision/policies/compile-policy.ts'
import { buildPolicyIndex } from '../../../../core/decision/policies/policy-index.ts'
import { policyWarnings } from '../../../../core/decision/policies/policy-warnings.ts'
import { buildPermissionIndex } from '../../../support/permission-index.ts'

const STARTERS = fileURLToPath(new URL('../../../../starters/', import.meta.url))
const { rows } = createCatalogue()

type Set = ReturnType<typeof read>
function read(dir: string) {
  const files = readManifestFiles([dir], '/').map((file) => ({ file, ...checkManifest(file) }))
  return files.map(({ file, resources, problems }) => ({
    name: basename(file.path, '.yaml'),
    problems: [...problems, ...policyProblems(file, resources)],
    resources,
  }))
}

/** The decision on an action under these manifests. */
function decideUnder(sets: Set) {
  const resources = sets.flatMap((set) => set.resources)
  const permissions = buildPermissionIndex(
    resources
      .flatMap((each) => (each.kind === 'Permission' ? each.spec.rules : []))
      .map((rule, at) => ({
        ...{
          id: `perm_${at}`,
          agent: '*',
          connector_type: rule.connectorType,
          action_pattern: rule.actionPattern,
        },
        ...{ decision: rule.decision, reason: rule.reason ?? null, source: 'file', managed_by: null },
      })),
  )
  const policies = buildPolicyIndex(
    resources.flatMap((each) =>
      each.kind === 'Policy'
        ? [
            compilePolicy({
              ...{ id: each.metadata.name, name: each.metadata.name, version: 1, mode: 'enforce' },
              ...{ priority: each.spec.priority, document: policyDocumentOf(each.spec) },
            }),
          ]
        : [],
    ),
  )
  const agent = { id: 'a', name: 'dev', environment: 'test', runtime: 'x', status: 'active' as const }
  return (
    type: string,
    more: { readonly effect: 'read' | 'compute' | 'write'; readonly unmapped?: true },
  ) => {
    const connector = type.split('.')[0] ?? ''
    const action = {
      type,
      connector,
      risk: 'low',
      resource: { provider: connector },
      parameters: {},
      riskHints: {},
    }
    const given = { action: { ...action, ...more } as never, agent, nowMs: 0 }
    return decide({ permissions, policies, level: 'full_enforce', defaultVerdict: 'deny' }, given).verdict
  }
}

const base = read(STARTER_DIR)
const sets = read(STARTERS)

test('every recognized agent program has a starter, and every starter a program', () => {
  const wanted = AGENT_PROGRAMS.map(({ starter }) => `${starter}.yaml`).sort()
  expect(readdirSync(STARTERS).sort()).toEqual(wanted)
})

describe.each(sets.map((set) => [set.name, set] as const))('the starter %s', (name, set) => {
  const verdictOf = decideUnder([...base, set])

  test('is valid, its policy passes its own tests and names known actions only', () => {
    expect(set.problems).toEqual([])
    const rules = set.resources.flatMap((each) => (each.kind === 'Permission' ? each.spec.rules : []))
    expect(rules.flatMap((rule) => permissionWarnings(rule, [], rules))).toEqual([])
    const policies = set.resources.flatMap((each) => (each.kind === 'Policy' ? [each.spec] : []))
    expect(policies).toHaveLength(1)
    expect(policies.flatMap((spec) => policyWarnings(policyDocumentOf(spec)))).toEqual([])
  })

  test('has its own objects, so that it can be applied in addition to the starter set', () => {
    const nameOf = (each: Set[number]['resources'][number]) => `${each.kind} ${each.metadata.name}`
    const taken = new Set(base.flatMap(({ resources }) => resources.map(nameOf)))
    expect(set.resources.map(nameOf).filter((each) => taken.has(each))).toEqual([])
    expect(new Set(set.resources.map(({ metadata }) => metadata.name))).toEqual(new Set([name]))
  })

  test('allows model calls and the requests of the program for itself', () => {
    for (const type of ['llm_a', 'llm_b', 'llm_c'])
      for (const { type: action, effect } of rows(type))
        if (/\.(message|response|chat|content|client|trace)\.(?!delete|update|cancel)/.test(action))
          if (effect !== 'write') expect(verdictOf(action, { effect }), action).toBe('allow')
  })

  test('denies unknown operations on model hosts', () => {
    for (const type of ['llm_a', 'llm_b', 'llm_c'])
      for (const verb of ['get', 'post', 'put', 'patch', 'delete', 'other'])
        expect(verdictOf(`${type}.unmapped.${verb}`, { effect: 'write', unmapped: true })).toBe('deny')
  })

  test('requires an approval for merges and refunds', () => {
    for (const type of ['codehost.pr.merge', 'payments.charge.refund'])
      expect(verdictOf(type, { effect: 'write' })).toBe('hold')
  })
})

test('the starter of LangGraph allows the token tables of LangChain, and no other path of their host', () => {
  const set = sets.find(({ name }) => name === 'langgraph')
  const connectors = set?.resources.flatMap((each) => (each.kind === 'Connector' ? [each.spec] : [])) ?? []
  expect(connectors).toMatchObject([{ domains: ['tiktoken.pages.dev'], auth: { type: 'none' } }])
  const named = connectors[0]?.actions.map(({ method, action }) => `${method} ${action}`)
  expect(new Set(named)).toEqual(new Set(['GET generic.token_table.get']))
  const verdictOf = decideUnder([...base, ...(set === undefined ? [] : [set])])
  expect(verdictOf('generic.token_table.get', { effect: 'read' })).toBe('allow')
  expect(verdictOf('generic.get', { effect: 'read' })).toBe('deny')
})
