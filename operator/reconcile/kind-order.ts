import type { ResourceKind } from '../../core/crd/schemas.ts'

/** Gateways first, because objects of the other kinds refer to them. */
export const DEPENDENCY_ORDER = [
  'Gateway',
  'Connector',
  'Permission',
  'Policy',
] as const satisfies readonly ResourceKind[]

/** For objects that do not fit into one change set: policies tighten, permissions loosen. */
export const TIGHTENING_ORDER = [
  'Gateway',
  'Policy',
  'Connector',
  'Permission',
] as const satisfies readonly ResourceKind[]
