import type { FieldLines } from '../../../core/crd/manifests/field-lines.ts'
import type { PolicyFacts } from '../../../core/crd/manifests/policy-manifests.ts'
import type { ManifestRows } from '../../../core/crd/manifests/row-manifests.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import type { ResourceKind } from '../../../core/crd/schemas.ts'
import type { PushReply } from '../../../core/wire/operator/operator.ts'
import type { ManifestOrigin } from '../../../core/wire/operator/origin.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { listConnectorsIn } from '../connectors/rows.ts'
import { listGatewaysIn } from '../gateways/rows.ts'
import { listPermissionsIn } from '../permissions/rows.ts'
import { listPoliciesIn, type PolicyRow } from '../policies/rows.ts'

export async function listManifestsIn(q: ScopedQuery): Promise<readonly EvaluatedRow[]> {
  return q.rows<EvaluatedRow>(
    [],
    (within) =>
      `select ${COLUMNS}, ${EVALUATED_AT} from manifest_objects where ${within.namespace('namespace')} order by kind, namespace, name`,
  )
}

export type ManifestSource = 'kubernetes' | 'file'

export type ObjectKey = { readonly kind: ResourceKind; readonly namespace: string; readonly name: string }

/**
 * Key of a manifest object as the operator sends it. The kind may be unknown to this version; no stored object has such
 * a kind.
 */
export type ObjectName = Omit<ObjectKey, 'kind'> & { readonly kind: string }

/** A manifest object as it was last pushed. The table holds accepted and refused objects. */
export type ManifestRow = ObjectKey & {
  readonly uid: string
  readonly generation: number
  readonly source: ManifestSource
  /** Path of the manifest file, or name of the object in the cluster. */
  readonly managedBy: string
  readonly accepted: boolean
  readonly reasons: readonly string[]
  readonly stored: StoredObject
}

/** A row with the time of its last push or evaluation, in microseconds. */
export type EvaluatedRow = ManifestRow & { readonly evaluatedAt: string }

/**
 * Times by host, port or Gateway, in RFC 3339 format without fractions of a second. An empty string is earlier than
 * every time.
 */
export type Since = Readonly<Record<string, string>>

/**
 * Times since which a Connector claims each of its hosts (lower case, wildcards included), ports and Gateways. The
 * older claim usually gets a disputed host; see `contestHosts`.
 */
export type HostClaims = { readonly hosts: Since; readonly ports: Since; readonly gateways: Since }

/**
 * The pushed object with the result of its last evaluation. A refused object is stored too, so that it can be applied
 * again when the missing object that it references exists.
 */
export type StoredObject = {
  readonly spec: unknown
  /**
   * Credential of a Connector, encrypted for the context `sealedPlace.manifest`; null for an object without a
   * credential.
   */
  readonly credential: Sealed | null
  readonly warnings: readonly string[]
  /** Errors that the operator found in the manifest. An object with errors cannot be applied. */
  readonly problems?: readonly string[]
  /** True for a YAML document from which no name could be read. */
  readonly isUnnamed?: boolean
  /**
   * Gateways of other namespaces to which the object was bound at any time since its spec last changed, as
   * `namespace/name`.
   */
  readonly bound?: readonly string[]
  /** Creation time in the cluster. Absent for files, and until the operator reports the time. */
  readonly createdAt?: string
  /** Lines of the fields in the manifest file. Absent for objects of a cluster, and in rows of older versions. */
  readonly lines?: FieldLines
  /** Origin of the object. Absent until the operator reports the origin. */
  readonly origin?: ManifestOrigin
  /**
   * Times since which the Connector with this uid claims its hosts. Absent in rows of older versions, and for a
   * Connector that never had a valid spec.
   */
  readonly claims?: HostClaims
  /** Result of the last evaluation; absent in rows of older versions. */
  readonly outcome?: Pick<PushReply, 'problem' | 'gateways' | 'tests'> & Partial<Pick<PushReply, 'in_force'>>
}

export const COLUMNS = `kind, namespace, name, uid, generation, source, managed_by as "managedBy", accepted, reasons,
  stored`

export const EVALUATED_AT = `to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "evaluatedAt"`

/**
 * Reads the rows of the namespaces for the export. A policy of a manifest includes the references to Gateways from its
 * manifest.
 *
 * @param text Selects the text of a policy: the active text, or the newest text, whose tests may fail.
 */
export async function readManifestRows(q: ScopedQuery, text: PolicyText): Promise<StoredRows> {
  const written = new Map(
    (await listManifestsIn(q)).map((row) => [`${row.kind}/${row.namespace}/${row.name}`, row.stored.spec]),
  )
  return {
    gateways: await listGatewaysIn(q),
    connectors: await listConnectorsIn(q),
    permissions: await listPermissionsIn(q, null),
    policies: (await listPoliciesIn(q)).map((row) =>
      policyFacts(row, text, written.get(`Policy/${row.name}`)),
    ),
  }
}

export type PolicyText = 'active' | 'newest'

export type StoredPolicy = PolicyFacts & Pick<PolicyRow, 'id' | 'tests'>

export type StoredRows = Omit<ManifestRows, 'policies'> & { readonly policies: readonly StoredPolicy[] }

function policyFacts(row: PolicyRow, text: PolicyText, written: unknown): StoredPolicy {
  const isNewest = text === 'newest'
  const isInForce = isNewest || row.activeYaml !== null || row.invalid !== null
  const facts = { ...row, isInForce, text: (isNewest ? null : row.activeYaml) ?? row.policyYaml }
  if (row.source === 'api' || written === undefined) return facts
  const spec = PolicySpec.pick({ gatewayRefs: true, namespaceSelector: true }).safeParse(
    pickReferences(written),
  )
  if (!spec.success) return facts
  const references = Object.fromEntries(Object.entries(spec.data).filter(([, value]) => value !== undefined))
  return { ...facts, references }
}

function pickReferences(written: unknown): unknown {
  const { gatewayRefs, namespaceSelector } = (written ?? {}) as Readonly<Record<string, unknown>>
  return { gatewayRefs, namespaceSelector }
}
