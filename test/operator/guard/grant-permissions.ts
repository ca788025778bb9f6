import { beforeAll, describe, expect, it } from 'vitest'
import type { KubeCall } from '../../../kube/transport.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { pathOf, RESOURCES } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import type { KubeApiServer } from '../../support/kube-api-server.ts'
import { refusalOf } from '../../support/kube-objects.ts'
import { GRANT_RULE, operatorClient } from '../inject/operator-account.ts'
import { openCluster } from '../kube/cluster.ts'

const RULE = { connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'require_approval' }
const SPEC = { gatewayRefs: [{ name: 'main' }], agents: ['team/bot'], rules: [RULE] }
const GRANT = { ...SPEC, expiresAt: '2099-01-01T00:00:00Z', maxUses: 2 }

function apply(name: string, spec: object): KubeCall {
  return {
    method: 'PATCH',
    path: pathOf(RESOURCES.Permission, 'team', name),
    query: { fieldManager: 'chaperone-operator', force: true },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: 'chaperone.dev/v1alpha1', kind: 'Permission', metadata: { name }, spec },
  }
}

const remove = (name: string): KubeCall => ({
  method: 'DELETE',
  path: pathOf(RESOURCES.Permission, 'team', name),
})

/** What the operator may do with Permissions, although RBAC cannot restrict its rights to those of grants. */
export function describeGrantPermissions(world: () => { server: KubeApiServer; client: KubeClient }): void {
  describe('of Permissions, the operator writes only those of grants', () => {
    let admin: KubeClient
    let operator: KubeClient

    beforeAll(async () => {
      const { server, client } = world()
      admin = client
      using cluster = openCluster(server)
      await cluster.installCrds()
      operator = await operatorClient(server, admin, [GRANT_RULE])
      await eventually('the policy is in force', async () =>
        (await refusalOf(operator, apply('probe', SPEC)))?.includes('ValidatingAdmissionPolicy')
          ? true
          : null,
      )
    })

    it('which it creates, changes and deletes', async () => {
      expect(await refusalOf(operator, apply('grant-1', GRANT))).toBeNull()
      expect(await refusalOf(operator, apply('grant-1', { ...GRANT, maxUses: 3 }))).toBeNull()
      expect(await refusalOf(operator, remove('grant-1'))).toBeNull()
    })

    it.each<[string, string, object]>([
      ['of another name', 'ours', GRANT],
      ['without uses', 'grant-2', SPEC],
      ['that allows something', 'grant-2', { ...GRANT, rules: [{ ...RULE, decision: 'allow' }] }],
    ])('but none %s', async (_, name, spec) => {
      expect(await refusalOf(operator, apply(name, spec))).toContain('only the Permissions that show access')
      expect(await refusalOf(admin, apply(name, spec))).toBeNull()
      expect(await refusalOf(admin, remove(name))).toBeNull()
    })

    it('and deletes no Permission of a user', async () => {
      expect(await refusalOf(admin, apply('users', SPEC))).toBeNull()
      expect(await refusalOf(operator, remove('users'))).toContain('only the Permissions that show access')
      expect(await refusalOf(admin, remove('users'))).toBeNull()
    })
  })
}
