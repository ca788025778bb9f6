import type { LocalSourceRules } from '../../../../core/crd/credentials/local-source-spec.ts'
import type { ManifestResource, ResourceKind } from '../../../../core/crd/schemas.ts'
import type { InForce, PushProblem, PushReply } from '../../../../core/wire/operator/operator.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import type { Query } from '../../../db/query.ts'
import { systemActor } from '../../audit/actor.ts'
import type { GroupMembers } from '../../authentication/cluster/group-members.ts'
import type { KillSwitch } from '../../kill-switch/service.ts'
import type { ObjectCache } from '../object-cache.ts'
import type { CheckPolicy } from '../policy/cached-check.ts'
import type { HostClaims, ManifestSource, ObjectKey } from '../rows.ts'
import type { ApplyReads } from './reads.ts'
import type { ApplyWrites } from './writes.ts'

/**
 * Actor in the audit log for changes that manifests make, from a folder or from a cluster. The column `managed_by` of
 * the changed row names the file or cluster object.
 */
export const MANIFESTS_ACTOR = systemActor('operator')

/** Dependencies of the functions that apply one manifest object. `q` is the transaction of the whole push. */
export type ApplyContext = {
  readonly q: Query
  readonly orgId: string
  readonly keyring: Keyring
  readonly killSwitch: Pick<KillSwitch, 'replaceSource'>
  /** Namespaces of the platform team, whose Policies apply to all Gateways. Absent means none. */
  readonly platformNamespaces?: ReadonlySet<string>
  /**
   * Rules for environment variables, files and commands of the control plane as credentials of Connectors. Absent means
   * that no Connector may name such a source.
   */
  readonly localSources?: LocalSourceRules
  readonly checkPolicy: CheckPolicy
  readonly reads: ApplyReads
  readonly writes: ApplyWrites
  readonly objects: ObjectCache
  /**
   * Warnings about approver groups that have neither accounts nor members in the cluster. The groups of the cluster
   * were queried before the transaction began.
   */
  readonly members: Pick<GroupMembers, 'absence'>
}

type SpecOf<K extends ResourceKind> = Extract<ManifestResource, { kind: K }>['spec']

/** One parsed manifest object. `fullName` is `namespace/name`. */
export type ManifestObject<K extends ResourceKind = ResourceKind> = ObjectKey & {
  readonly kind: K
  readonly fullName: string
  readonly source: ManifestSource
  readonly managedBy: string
  readonly spec: SpecOf<K>
  /**
   * Gateways of other namespaces to which the object was bound at any time since its last change, as `namespace/name`.
   */
  readonly boundBefore: readonly string[]
  readonly uid: string
  /**
   * Times at which the Connector began to claim each of its hosts, ports and Gateways. Undefined for other kinds, and
   * for a Connector that never had a valid spec.
   */
  readonly claims: HostClaims | undefined
  /** The decrypted credential of a Connector; null when the object has no credential. */
  readonly credential: string | null
}

/**
 * Result of applying one manifest object. A refused object keeps its last accepted state in force. An object has no
 * effect when none of the referenced Gateways admits it.
 */
export type Applied = {
  readonly accepted: boolean
  /** Errors of the object as full sentences, each with its remedy. */
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
  /** True when the configuration in force changed. */
  readonly changed: boolean
  /** Problem of a refused object; null when the object was accepted. */
  readonly problem: PushProblem | null
  /** Gateways to which the object applies, as `namespace/name`. Null means all Gateways of the installation. */
  readonly gateways: readonly string[] | null
  /**
   * Gateways of other namespaces to which the object is bound, or was bound since its last change, as `namespace/name`.
   */
  readonly bound: readonly string[]
  readonly tests: PushReply['tests']
  readonly inForce: InForce
}

export type Applier<K extends ResourceKind> = {
  apply(context: ApplyContext, object: ManifestObject<K>): Promise<Applied>
  /**
   * Handles an invalid manifest; `object.spec` is the unvalidated spec. Without this method, an invalid manifest leaves
   * the object unchanged.
   */
  refuse?(context: ApplyContext, object: ManifestObject<K>, reasons: readonly string[]): Promise<Applied>
  /** Returns which version of the object is in force while its newest manifest is refused. */
  inForce(context: ApplyContext, key: ObjectKey): Promise<InForce>
  /** Removes the object. Returns true when the object was in force. */
  remove(context: ApplyContext, key: ObjectKey): Promise<boolean>
}

export type Bound = Pick<Applied, 'changed' | 'gateways'> &
  Partial<Pick<Applied, 'warnings' | 'tests' | 'bound' | 'reasons' | 'problem'>>

/**
 * Returns the result of an accepted object. When some references are unresolved, the result has `reasons` and
 * `problem`, and the object is in force at the other referenced Gateways.
 */
export function accepted(given: Bound): Applied {
  const none = { reasons: [], problem: null, warnings: [], bound: [], tests: null }
  return { accepted: true, ...none, inForce: 'as_written', ...given }
}

export type Refusal = Pick<Applied, 'reasons'> & { readonly problem: PushProblem } & Partial<
    Pick<Applied, 'changed' | 'gateways' | 'tests' | 'bound' | 'inForce'>
  >

/**
 * Returns the result of a refused object. `inForce`: the version that is in force; when absent, `applyOne` reads the
 * version from the applier of the kind.
 */
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

/**
 * Returns the namespace in which members of the approver groups of a Policy may answer approvals. Returns the empty
 * string, which means all namespaces, only for a Policy of the platform team.
 */
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
