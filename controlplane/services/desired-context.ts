import type { KnownAction } from '../../core/action/spec.ts'
import type { ManifestResource, ResourceKind } from '../../core/crd/schemas.ts'
import type { DesiredProblem, DesiredReply, InForce } from '../../core/wire/operator.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { systemActor } from '../store/audit.ts'
import type { ManifestSource, ObjectKey } from '../store/desired.ts'
import type { Query } from '../store/query.ts'
import type { KillSwitch } from './kill-switch.ts'

/** Manifests are applied by the operator, from a folder and in a cluster alike; `managed_by` names the place. */
export const MANIFESTS_ACTOR = systemActor('operator')

/** What applying one object may use; `q` is the transaction of the whole hand-over. */
export type ApplyContext = {
  readonly q: Query
  readonly orgId: string
  readonly keyring: Keyring
  readonly killSwitch: Pick<KillSwitch, 'replaceSource'>
  /** Effect and risk of an action by its name, for the tests of policies. */
  readonly knownAction: (type: string) => KnownAction | null
}

type SpecOf<K extends ResourceKind> = Extract<ManifestResource, { kind: K }>['spec']

/** One object of a manifest, parsed. `fullName` is `namespace/name`. */
export type ManifestObject<K extends ResourceKind = ResourceKind> = ObjectKey & {
  readonly kind: K
  readonly fullName: string
  readonly source: ManifestSource
  readonly managedBy: string
  readonly spec: SpecOf<K>
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
  readonly problem: DesiredProblem | null
  /** `namespace/name` of the gateways that it is for; null = all of the installation. */
  readonly gateways: readonly string[] | null
  readonly tests: DesiredReply['tests']
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

export type Bound = Pick<Applied, 'changed' | 'gateways'> & Partial<Pick<Applied, 'warnings' | 'tests'>>

export function accepted({ changed, gateways, warnings = [], tests = null }: Bound): Applied {
  return {
    accepted: true,
    reasons: [],
    problem: null,
    warnings,
    changed,
    gateways,
    tests,
    inForce: 'as_written',
  }
}

export type Refusal = Pick<Applied, 'reasons'> & { readonly problem: DesiredProblem } & Partial<
    Pick<Applied, 'changed' | 'gateways' | 'tests'>
  >

/** What holds instead is asked of the applier afterwards. */
export function refused({
  reasons,
  problem,
  changed = false,
  gateways = [],
  tests = null,
}: Refusal): Applied {
  return {
    accepted: false,
    reasons,
    problem,
    warnings: [],
    changed,
    gateways,
    tests,
    inForce: 'nothing',
  }
}

/** The names of gateways as replies give them. */
export function namesOf(gateways: ReadonlyArray<{ readonly name: string }>): readonly string[] {
  return gateways.map(({ name }) => name)
}

export function fullNameOf({ namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
