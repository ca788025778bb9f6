import type { ResourceKind } from '../../core/crd/schemas.ts'

/** Order in which kinds are pushed. Gateways are first, because objects of the other kinds refer to them. */
export const DEPENDENCY_ORDER = [
  'Gateway',
  'Connector',
  'Permission',
  'Policy',
] as const satisfies readonly ResourceKind[]

/**
 * Order for objects that do not fit into one change set. Gateways are first, because objects of the other kinds refer
 * to them. Policies are next, because they make decisions stricter. Permissions are last, because they make decisions
 * less strict.
 */
export const TIGHTENING_ORDER = [
  'Gateway',
  'Policy',
  'Connector',
  'Permission',
] as const satisfies readonly ResourceKind[]
