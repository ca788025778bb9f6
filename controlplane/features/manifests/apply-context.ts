import type { ManifestResource, ResourceKind } from '../../../core/crd/schemas.ts'
import type { InForce, PushProblem, PushReply } from '../../../core/wire/operator/operator.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Query } from '../../db/query.ts'
import { systemActor } from '../audit/actor.ts'
import type { GroupMembers } from '../authentication/cluster/group-members.ts'
import type { KillSwitch } from '../kill-switch/service.ts'
import type { CheckPolicy } from '../policies/cached-check.ts'
import type { ApplyReads } from './apply-reads.ts'
import type { ObjectCache } from './object-cache.ts'
import type { HostClaims, ManifestSource, ObjectKey } from './store.ts'

/**
 * Actor of changes by manifests, from a folder and in a cluster: the operator. `managed_by` of the row names the file
 * or object.
 */
export const MANIFESTS_ACTOR = systemActor('operator')

/** Dependencies of applying one object; `q` is the transaction of the whole push. */
export type ApplyContext = {
  readonly q: Query
  readonly orgId: string
  readonly keyring: Keyring
  readonly killSwitch: Pick<KillSwitch, 'replaceSource'>
  /** Namespaces of the platform team, whose Policies apply to all Gateways. Absent means none. */
  readonly platformNamespaces?: ReadonlySet<string>
  readonly checkPolicy: CheckPolicy
  readonly reads: ApplyReads
  readonly objects: ObjectCache
  /** Membership of groups without accounts, as the cluster reported it before the transaction. */
  readonly members: Pick<GroupMembers, 'absence'>
}

type SpecOf<K extends ResourceKind> = Extract<ManifestResource, { kind: K }>['spec']

/** One manifest object, parsed. `fullName` is `namespace/name`. */
export type ManifestObject<K extends ResourceKind = ResourceKind> = ObjectKey & {
  readonly kind: K
  readonly fullName: string
  readonly source: ManifestSource
  readonly managedBy: string
  readonly spec: SpecOf<K>
  /** Gateways of other namespaces that the object was bound to since its last change, as `namespace/name`. */
  readonly boundBefore: readonly string[]
  readonly uid: string
  /**
   * When the Connector began to claim each of its hosts, ports and Gateways. Undefined for other kinds, and for a
   * Connector that never had a valid spec.
   */
  readonly claims: HostClaims | undefined
  /** The resolved credential of a Connector; null when there is none. */
  readonly credential: string | null
}

/**
 * Result of applying one object. A refused object keeps its last accepted state. It has no effect when none of its
 * references admits it.
 */
export type Applied = {
  readonly accepted: boolean
  /** Full sentences: the error and its remedy. */
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
  /** True when the configuration in force changed. */
  readonly changed: boolean
  /** Problem of a refused object; null when the object was accepted. */
  readonly problem: PushProblem | null
  /** Gateways that the object applies to, as `namespace/name`; null for all of the installation. */
  readonly gateways: readonly string[] | null
  /** Gateways of other namespaces that the object is bound to, or was since its last change, as `namespace/name`. */
  readonly bound: readonly string[]
  readonly tests: PushReply['tests']
  readonly inForce: InForce
}

export type Applier<K extends ResourceKind> = {
  apply(context: ApplyContext, object: ManifestObject<K>): Promise<Applied>
  /** Handles an invalid manifest, with `spec` as written. Absent: an invalid manifest leaves the object unchanged. */
  refuse?(context: ApplyContext, object: ManifestObject<K>, reasons: readonly string[]): Promise<Applied>
  /** Returns the version of the object in force while its newest manifest is refused. */
  inForce(context: ApplyContext, key: ObjectKey): Promise<InForce>
  /** Removes the object. Returns true when it was in force. */
  remove(context: ApplyContext, key: ObjectKey): Promise<boolean>
}

export type Bound = Pick<Applied, 'changed' | 'gateways'> &
  Partial<Pick<Applied, 'warnings' | 'tests' | 'bound' | 'reasons' | 'problem'>>

/**
 * Returns an accepted result. `reasons` and `problem`: some references are unresolved, and the object is in force for
 * the others.
 */
export function accepted(given: Bound): Applied {
  const none = { reasons: [], problem: null, warnings: [], bound: [], tests: null }
  return { accepted: true, ...none, inForce: 'as_written', ...given }
}

export type Refusal = Pick<Applied, 'reasons'> & { readonly problem: PushProblem } & Partial<
    Pick<Applied, 'changed' | 'gateways' | 'tests' | 'bound' | 'inForce'>
  >

/** Returns a refused result. Unless `inForce` is given here, `applyOne` sets it from the applier. */
export function refused(given: Refusal): Applied {
  const none = { warnings: [], changed: false, gateways: [], bound: [], tests: null }
  return { accepted: false, ...none, inForce: 'nothing', ...given }
}

export function isOfPlatform(
  { platformNamespaces }: Pick<ApplyContext, 'platformNamespaces'>,
  { namespace, source }: Pick<ManifestObject, 'namespace' | 'source'>,
): boolean {
  return source === 'kubernetes' && platformNamespaces?.has(namespace) === true
}

/** Returns the namespace in which the approver groups of a Policy may answer; '' means all, for the platform team. */
export function answerPlace(
  context: Pick<ApplyContext, 'platformNamespaces'>,
  object: Pick<ManifestObject, 'namespace' | 'source'>,
): string {
  return isOfPlatform(context, object) ? '' : object.namespace
}

/** Returns the names of gateways for the reply to a push. */
export function namesOf(gateways: ReadonlyArray<{ readonly name: string }>): readonly string[] {
  return gateways.map(({ name }) => name)
}
