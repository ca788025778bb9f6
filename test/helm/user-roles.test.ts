import { describe, expect, test } from 'vitest'
import { hasRole, partsOfRight, RIGHTS, type Right, type Role } from '../../core/wire/access/rights.ts'
import { helmProgram, LEAST, type Resource, type Rule, resources } from './chart.ts'

const KINDS = ['gateways', 'connectors', 'permissions', 'policies']
const WRITING = ['create', 'update', 'patch', 'delete', 'deletecollection']
const crds = (verbs: readonly string[]) => KINDS.flatMap((kind) => verbs.map((verb) => `${kind}/${verb}`))

/** `resource/verb` of chaperone.dev. */
function granted(role: Resource): string[] {
  const { rules } = role as unknown as { readonly rules: readonly Rule[] }
  const ours = rules.filter(({ apiGroups }) => apiGroups.includes('chaperone.dev'))
  const all = ours.flatMap(({ resources: names, verbs }) =>
    names.flatMap((name) => verbs.map((verb) => `${name}/${verb}`)),
  )
  return [...new Set(all)].sort()
}

function rightsUpTo(role: Role): string[] {
  return (Object.keys(RIGHTS) as Right[]).filter((right) => hasRole(role, RIGHTS[right].role))
}

describe.skipIf(helmProgram === null)('the roles for users (helm)', async () => {
  const all = await resources(...LEAST)
  const role = (name: string) =>
    all.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === `chaperone-${name}`)!

  test.each([
    ['aggregate-to-view', crds(['get', 'list', 'watch'])],
    ['view', [...crds(['get', 'list', 'watch']), ...rightsUpTo('viewer')]],
    ['edit', crds(WRITING)],
    ['approver', ['approvals/get', 'approvals/answer', 'records/get', 'explanations/get']],
    ['kill-switch', ['killswitches/get', 'killswitches/activate']],
    ['admin', [...crds(['get', 'list', 'watch', ...WRITING]), ...rightsUpTo('admin')]],
  ])('chaperone-%s grants these rights of the table and no other', (name, wanted) => {
    expect(granted(role(name))).toEqual([...new Set(wanted)].sort())
  })

  test('the rights of the table exist as verbs and resources that RBAC can grant', () => {
    for (const right of Object.keys(RIGHTS) as Right[]) {
      const { resource, verb } = partsOfRight(right)
      expect(`${resource} ${verb}`).toMatch(/^[a-z]+ [a-z]+$/)
    }
  })

  test.each([
    ['aggregate-to-view', ['view', 'edit', 'admin']],
    ['view', []],
    ['edit', ['edit', 'admin']],
    ['approver', []],
    ['kill-switch', []],
    ['admin', []],
  ])('chaperone-%s is part of the roles %j of every cluster', (name, wanted) => {
    const labels = (role(name).metadata as unknown as { labels: Record<string, string> }).labels
    const parts = Object.keys(labels).flatMap((key) => /aggregate-to-(\w+)$/.exec(key)?.[1] ?? [])
    expect(parts.sort()).toEqual([...wanted].sort())
  })
})
