import { expect, test } from 'vitest'
import { toolType } from '../../../../core/connectors/mcp/names.ts'
import { type ClusterGrant, grantPermission } from '../../../../core/crd/manifests/grant-permission.ts'
import { PermissionResource } from '../../../../core/crd/schemas.ts'
import { GrantObject } from '../../../../core/wire/operator/grants.ts'

const GRANT: ClusterGrant = {
  ...{ id: 'grt_aB1', approvalId: 'apv_1', gateway: 'team/prod', agent: 'team/bot' },
  ...{ actionType: 'codehost.pr.merge', anyTarget: false, target: 'acme/site', parameterNames: ['number'] },
  ...{ maxUses: 2, createdBy: 'ann@example.com', expiresAt: '2099-01-01T00:00:00.000Z' },
}

test.each<[string, Partial<ClusterGrant>]>([
  ['a target that the reason cuts within a character', { target: `${'x'.repeat(442)}😀😀` }],
  [
    'many long parameters',
    { parameterNames: Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(300, 'é')) },
  ],
  ['a tool with a long name in another script', { actionType: toolType('ж'.repeat(60)) }],
  ['a tool named as a pattern', { actionType: toolType('a*') }],
  ['a name of 300 characters', { actionType: `mcp.tools.${'x'.repeat(290)}` }],
  ['a maker with a long name', { createdBy: `system:serviceaccount:${'n'.repeat(63)}:${'s'.repeat(253)}` }],
  ['an agent with a long name', { agent: `team/${'a'.repeat(248)}` }],
])('a grant with %s is a Permission that the API server stores as it is', (_, changes) => {
  const { spec, ...metadata } = grantPermission({ ...GRANT, ...changes })
  const object = { apiVersion: 'chaperone.dev/v1alpha1', kind: 'Permission', metadata, spec }
  expect(PermissionResource.parse(object).spec).toEqual(spec)
  expect(GrantObject.safeParse({ ...metadata, spec, is_stored: false }).success).toBe(true)
  expect(spec.rules[0]?.reason?.isWellFormed()).toBe(true)
  for (const value of Object.values(metadata.labels))
    expect(value).toMatch(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/)
})
