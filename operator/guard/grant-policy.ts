import { GRANT_NAME_PREFIX } from '../../core/crd/manifests/grant-permission.ts'
import { demand, type Policy, text } from './expressions.ts'
import type { GuardOptions } from './guard-options.ts'

/**
 * Returns the admission policy that limits the operator to Permissions of grants. The rules of these Permissions only
 * require approval. RBAC cannot restrict the rights of the operator to these objects.
 */
export function grantPermissions({ operatorUser }: Pick<GuardOptions, 'operatorUser'>): Policy {
  const isNamed = (object: string) => `${object}.metadata.name.startsWith(${text(GRANT_NAME_PREFIX)})`
  const isGrant = [
    isNamed('object'),
    'has(object.spec.expiresAt) && has(object.spec.maxUses)',
    "object.spec.rules.all(rule, rule.decision == 'require_approval')",
  ].join(' && ')
  return {
    name: 'chaperone-grants',
    rule: {
      apiGroups: ['chaperone.dev'],
      apiVersions: ['v1alpha1'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['permissions'],
    },
    conditions: [{ name: 'is-operator', expression: `request.userInfo.username == ${text(operatorUser)}` }],
    validations: [
      demand(
        `request.operation == 'DELETE' ? ${isNamed('oldObject')} : (${isGrant})`,
        'the operator may write and delete only the Permissions that show access given by an approver for a time (grants)',
      ),
    ],
  }
}
