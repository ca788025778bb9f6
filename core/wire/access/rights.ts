import type { ResourceKind } from '../../crd/schemas.ts'

/** Roles in ascending order. Each role includes the rights of all roles before it. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const

export type Role = (typeof ROLES)[number]

/** Reports whether `role` includes all rights of `minimum`. */
export function hasRole(role: Role, minimum: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(minimum)
}

type RightEntry = {
  /** Lowest role that has this right. */
  readonly role: Role
  readonly allows: string
  /**
   * True if a user who has the right in only some namespaces may use its routes, which then return only objects of
   * these namespaces. If absent, users need the right in all namespaces.
   */
  readonly isNamespaced?: true
  /**
   * Kinds of objects that the routes of this right write. With `DASHBOARD_EDITING=yaml`, these routes store nothing and
   * return 409 with the manifest that the user must commit.
   */
  readonly writes?: readonly ResourceKind[]
}

/**
 * Rights of users, as `resource/verb`. Users of the installation have a right by their role. Callers of a cluster have
 * a right by RBAC: they need the verb on this resource of the API group `chaperone.dev`. Every route for users requires
 * a right.
 */
export const RIGHTS = {
  'records/get': {
    role: 'viewer',
    allows: 'view the overview, the activity and the traffic',
    isNamespaced: true,
  },
  'explanations/get': {
    role: 'viewer',
    allows: 'simulate the decision about a request',
    isNamespaced: true,
  },
  'manifests/get': { role: 'viewer', allows: 'view the state of manifests', isNamespaced: true },
  'killswitches/get': { role: 'viewer', allows: 'view active kill switches', isNamespaced: true },
  'killswitches/activate': { role: 'member', allows: 'activate a kill switch', isNamespaced: true },
  'killswitches/lift': { role: 'admin', allows: 'deactivate a kill switch', isNamespaced: true },
  'approvals/get': { role: 'member', allows: 'view pending approvals', isNamespaced: true },
  'approvals/answer': { role: 'member', allows: 'approve and deny pending approvals', isNamespaced: true },
  'approverkeys/get': { role: 'member', allows: 'list the approver keys of your account' },
  'approverkeys/update': { role: 'member', allows: 'create and revoke approver keys of your account' },
  'agents/get': { role: 'admin', allows: 'list agents', isNamespaced: true },
  'agents/update': { role: 'admin', allows: 'create, suspend and revoke agents' },
  'gateways/get': { role: 'admin', allows: 'view the settings of gateways', isNamespaced: true },
  'gateways/update': {
    role: 'admin',
    allows: 'create gateways and change their settings in the dashboard',
    writes: ['Gateway', 'Connector', 'Permission'],
  },
  'connectors/get': { role: 'admin', allows: 'list connectors', isNamespaced: true },
  'connectors/update': { role: 'admin', allows: 'remove connectors of the dashboard', writes: ['Connector'] },
  'credentials/set': {
    role: 'admin',
    allows: 'add connectors with their credential, and replace it',
    writes: ['Connector', 'Permission'],
  },
  'permissions/get': { role: 'admin', allows: 'list permissions', isNamespaced: true },
  'permissions/update': {
    role: 'admin',
    allows: 'set and remove permissions of the dashboard',
    writes: ['Permission'],
  },
  'policies/get': {
    role: 'admin',
    allows:
      'list and test policies; together with `records/get`, also test them on recorded requests (replay)',
    isNamespaced: true,
  },
  'policies/update': {
    role: 'admin',
    allows: 'create, change and remove policies of the dashboard',
    writes: ['Policy'],
  },
  'auditevents/get': {
    role: 'admin',
    allows: 'read and export the audit log, with the evidence of an action',
    isNamespaced: true,
  },
  'configuration/export': { role: 'admin', allows: 'export the configuration', isNamespaced: true },
  'configuration/import': { role: 'owner', allows: 'import a configuration', writes: ['Policy'] },
  'settings/get': { role: 'admin', allows: 'read the settings of the installation' },
  'settings/update': {
    role: 'admin',
    allows: 'change the settings of the installation, and rotate its keys',
  },
  'users/get': { role: 'admin', allows: 'list users' },
  'users/update': { role: 'admin', allows: 'invite users, change their roles, remove them' },
  'ownerlinks/create': {
    role: 'owner',
    allows: 'create a new link with which the first owner signs up, while no owner exists',
  },
} as const satisfies Readonly<Record<string, RightEntry>>

export type Right = keyof typeof RIGHTS

/**
 * Returns where a user needs the right to use its routes: `namespaces` means at least one namespace, `cluster` means
 * all.
 */
export function reachOf(right: Right): Reach {
  const entry: RightEntry = RIGHTS[right]
  return entry.isNamespaced === true ? 'namespaces' : 'cluster'
}

export function isRight(name: string): name is Right {
  return Object.hasOwn(RIGHTS, name)
}

/** Splits a right: `approvals/answer` has the resource `approvals` and the verb `answer`. */
export function partsOfRight(right: Right): { readonly resource: string; readonly verb: string } {
  const [resource = '', verb = ''] = right.split('/')
  return { resource, verb }
}

/** Namespaces in which a user has a right. `all` includes objects without a namespace. */
export type Namespaces = 'all' | ReadonlySet<string>

/** Namespaces in which routes require a right: at least one (`namespaces`), or all (`cluster`). */
export type Reach = 'namespaces' | 'cluster'

/**
 * Reports whether a right in `namespaces` covers an object in `namespace`. `namespace` is null for an object without a
 * namespace.
 */
export function covers(namespaces: Namespaces, namespace: string | null): boolean {
  return namespaces === 'all' || (namespace !== null && namespaces.has(namespace))
}
