import type { ManifestResource, ResourceKind } from '../../../core/crd/schemas.ts'
import type { InForce, PushProblem, PushReply } from '../../../core/wire/operator/operator.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Query } from '../../db/query.ts'
import { systemActor } from '../audit/store.ts'
import type { GroupMembers } from '../authentication/cluster/group-members.ts'
import type { KillSwitch } from '../kill-switch/service.ts'
import type { CheckPolicy } from '../policies/cached-check.ts'
import type { ApplyReads } from './apply-reads.ts'
import type { HostClaims, ManifestSource, ObjectKey } from './store.ts'

/** Manifests are applied by the operator, from a folder and in a cluster alike; `managed_by` names the place. */
export const MANIFESTS_ACTOR = systemActor('operator')

/** What applying one object may use; `q` is the transaction of the whole hand-over. */
export type ApplyContext = {
  readonly q: Query
  readonly orgId: string
  readonly keyring: Keyring
  readonly killSwitch: Pick<KillSwitch, 'replaceSource'>
  /** Namespaces of the platform team, whose Policies are for all Gateways. Left out: none. */
  readonly platformNamespaces?: ReadonlySet<string>
  readonly checkPolicy: CheckPolicy
  readonly reads: ApplyReads
  /** What the cluster has said of groups without accounts; asked before the transaction. */
  readonly members: Pick<GroupMembers, 'absence'>
}

type SpecOf<K extends ResourceKind> = Extract<ManifestResource, { kind: K }>['spec']

/** One object of a manifest, parsed. `fullName` is `namespace/name`. */
export type ManifestObject<K extends ResourceKind = ResourceKind> = ObjectKey & {
  readonly kind: K
  readonly fullName: string
  readonly source: ManifestSource
  readonly managedBy: string
  readonly spec: SpecOf<K>
  /** `namespace/name` of the Gateways of other namespaces that it was bound to since it was last changed. */
  readonly boundBefore: readonly string[]
  readonly uid: string
  /** Of a Connector: since when it claims its hosts. */
  readonly claims: HostClaims | undefined
  /** The resolved credential of a Connector; null when there is none. */
  readonly credential: string | null
}

/** What became of it. Refused: either its last good state stays, or (when nothing it names allows it) it has no effect. */
export type Applied = {
  readonly accepted: boolean
  /** Full sentences: what is wrong and what to change. */
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
  /** Whether anything that is in force changed. */
  readonly changed: boolean
  /** Null when it was accepted. */
  readonly problem: PushProblem | null
  /** `namespace/name` of the gateways that it is for; null = all of the installation. */
  readonly gateways: readonly string[] | null
  /** `namespace/name` of the Gateways of other namespaces that it is bound to now, or was since it was last changed. */
  readonly bound: readonly string[]
  readonly tests: PushReply['tests']
  readonly inForce: InForce
}

export type Applier<K extends ResourceKind> = {
  apply(context: ApplyContext, object: ManifestObject<K>): Promise<Applied>
  /** For a manifest that cannot be used, for these reasons; `spec` is then as it was written. Left out: nothing changes. */
  refuse?(context: ApplyContext, object: ManifestObject<K>, reasons: readonly string[]): Promise<Applied>
  /** What holds while the manifest is refused. */
  inForce(context: ApplyContext, key: ObjectKey): Promise<InForce>
  /** True when something that was in force went. */
  remove(context: ApplyContext, key: ObjectKey): Promise<boolean>
}

export type Bound = Pick<Applied, 'changed' | 'gateways'> &
  Partial<Pick<Applied, 'warnings' | 'tests' | 'bound' | 'reasons' | 'problem'>>

/** `reasons` and `problem`: some of its references are not resolved, and it is in force for the others. */
export function accepted(given: Bound): Applied {
  const none = { reasons: [], problem: null, warnings: [], bound: [], tests: null }
  return { accepted: true, ...none, inForce: 'as_written', ...given }
}

export type Refusal = Pick<Applied, 'reasons'> & { readonly problem: PushProblem } & Partial<
    Pick<Applied, 'changed' | 'gateways' | 'tests' | 'bound' | 'inForce'>
  >

/** What holds instead is asked of the applier afterwards, unless it is stated here. */
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

/** The namespace in which the approver groups of a Policy answer; '' for all, where the agents of the platform team's are. */
export function answerPlace(
  context: Pick<ApplyContext, 'platformNamespaces'>,
  object: Pick<ManifestObject, 'namespace' | 'source'>,
): string {
  return isOfPlatform(context, object) ? '' : object.namespace
}

/** The names of gateways as replies give them. */
export function namesOf(gateways: ReadonlyArray<{ readonly name: string }>): readonly string[] {
  return gateways.map(({ name }) => name)
}
