import type { ResourceKind } from '../../../core/crd/schemas.ts'
import type { ManifestProblem, PushReply } from '../../../core/wire/operator/operator.ts'
import { ManifestOrigin } from '../../../core/wire/operator/origin.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import type { PermissionRow } from '../permissions/rows.ts'

export type ManifestSource = 'kubernetes' | 'file'

export type ObjectKey = { readonly kind: ResourceKind; readonly namespace: string; readonly name: string }

/** A manifest object as last pushed, accepted or not. */
export type DesiredRow = ObjectKey & {
  readonly uid: string
  readonly generation: number
  readonly source: ManifestSource
  /** The file, or the object in the cluster. */
  readonly managedBy: string
  readonly accepted: boolean
  readonly reasons: readonly string[]
  readonly stored: StoredObject
}

/** A row with the time of its last push or evaluation, with a precision of a microsecond. */
export type JudgedRow = DesiredRow & { readonly judgedAt: string }

/** Times in RFC 3339 without fractions; an empty time is older than every other. */
export type Since = Readonly<Record<string, string>>

/** Times since which a Connector claims its hosts (lower case, wildcards included), its ports and its Gateways. */
export type HostClaims = { readonly hosts: Since; readonly ports: Since; readonly gateways: Since }

/**
 * The pushed object with its result, stored so that a refused object can be applied again when its missing reference
 * exists.
 */
export type StoredObject = {
  readonly spec: unknown
  /** Credential of a Connector, sealed to `desiredPlace`; null when there is none. */
  readonly credential: Sealed | null
  readonly warnings: readonly string[]
  /** Errors that the source reports. An object with errors cannot be applied. */
  readonly problems?: readonly string[]
  /** True when the document has no readable name. */
  readonly isUnnamed?: boolean
  /** Gateways of other namespaces that the object was bound to since its spec last changed, as `namespace/name`. */
  readonly bound?: readonly string[]
  /** Creation time in the cluster; absent for files and while the operator has not reported it. */
  readonly createdAt?: string
  /** Origin of the object; absent while the operator has not reported it. */
  readonly origin?: ManifestOrigin
  /** Claims of a Connector with this uid; absent in rows of older versions and while no spec could be read. */
  readonly claims?: HostClaims
  /** Result of the last evaluation; absent in rows of older versions. */
  readonly outcome?: Pick<PushReply, 'problem' | 'gateways' | 'tests'> & Partial<Pick<PushReply, 'in_force'>>
}

const COLUMNS = `kind, namespace, name, uid, generation, source, managed_by as "managedBy", accepted, reasons,
  stored`
const JUDGED_AT = `to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "judgedAt"`

/** Returns the context to which a credential in the table `manifest_objects` is sealed. */
export function desiredPlace({ kind, namespace, name }: ObjectKey): string {
  return `desired/${kind}/${namespace}/${name}`
}

/** Serialises writers of manifest objects until the transaction ends: their bindings depend on each other. */
export async function lockDesired(q: Query): Promise<void> {
  await q.query("select pg_advisory_xact_lock(hashtextextended('manifest objects', 0))", [])
}

/** Returns the database's time, rounded up to the next second: later than the creation of every existing object. */
export async function nextSecond(q: Query): Promise<string> {
  const { rows } = await q.query<{ time: string }>(
    `select to_char(date_trunc('second', clock_timestamp() at time zone 'UTC') + interval '1 second',
       'YYYY-MM-DD"T"HH24:MI:SS"Z"') as time`,
    [],
  )
  return onlyRow(rows).time
}

/** Takes the lock of `lockDesired` without waiting. Returns false when another transaction holds it. */
export async function tryLockDesired(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ isLocked: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended('manifest objects', 0)) as "isLocked"`,
    [],
  )
  return rows[0]?.isLocked === true
}

export async function listDesired(q: Query): Promise<readonly JudgedRow[]> {
  const { rows } = await q.query<JudgedRow>(
    `select ${COLUMNS}, ${JUDGED_AT} from manifest_objects order by kind, namespace, name`,
    [],
  )
  return rows
}

/** Returns the known origins of manifests in the namespaces, by `Kind/namespace/name`. */
export async function listManifestOriginsIn(q: ScopedQuery): Promise<ReadonlyMap<string, ManifestOrigin>> {
  const rows = await q.rows<{ key: string; origin: unknown }>(
    [],
    (within) => `select kind || '/' || namespace || '/' || name as key, stored -> 'origin' as origin
     from manifest_objects where stored -> 'origin' is not null and ${within.namespace('namespace')}`,
  )
  return new Map(rows.map(({ key, origin }) => [key, ManifestOrigin.parse(origin)]))
}

export async function listDesiredIn(q: ScopedQuery): Promise<readonly JudgedRow[]> {
  return q.rows<JudgedRow>(
    [],
    (within) =>
      `select ${COLUMNS}, ${JUDGED_AT} from manifest_objects where ${within.namespace('namespace')} order by kind, namespace, name`,
  )
}

export async function getDesired(q: Query, key: ObjectKey): Promise<DesiredRow | undefined> {
  const { rows } = await q.query<DesiredRow>(
    `select ${COLUMNS} from manifest_objects where kind = $1 and namespace = $2 and name = $3`,
    [key.kind, key.namespace, key.name],
  )
  return rows[0]
}

export async function putDesired(q: Query, row: DesiredRow): Promise<void> {
  await q.query(
    `insert into manifest_objects (kind, namespace, name, uid, generation, source, managed_by, accepted, reasons, stored)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (kind, namespace, name) do update set uid = excluded.uid, generation = excluded.generation,
       source = excluded.source, managed_by = excluded.managed_by, accepted = excluded.accepted,
       reasons = excluded.reasons, stored = excluded.stored, updated_at = now()`,
    [
      row.kind,
      row.namespace,
      row.name,
      row.uid,
      row.generation,
      row.source,
      row.managedBy,
      row.accepted,
      row.reasons,
      JSON.stringify(row.stored),
    ],
  )
}

export async function deleteDesired(q: Query, key: ObjectKey): Promise<boolean> {
  const { rowCount } = await q.query(
    'delete from manifest_objects where kind = $1 and namespace = $2 and name = $3',
    [key.kind, key.namespace, key.name],
  )
  return rowCount > 0
}

/** Lists the rows of one Permission manifest. */
export async function listOwnedPermissions(
  q: Query,
  owner: string,
): Promise<ReadonlyArray<Omit<PermissionRow, 'id' | 'createdAt'>>> {
  const { rows } = await q.query<Omit<PermissionRow, 'id' | 'createdAt'>>(
    `select org_id as "orgId", gateway_id as "gatewayId", agent, connector_type as "connectorType",
       action_pattern as "actionPattern", decision, reason, source, managed_by as "managedBy", owner
     from permissions where owner = $1`,
    [owner],
  )
  return rows
}

/** Replaces the problems of this source's files. */
export async function replaceProblems(
  q: Query,
  source: ManifestSource,
  problems: readonly ManifestProblem[],
): Promise<void> {
  await q.query('delete from manifest_problems where source = $1', [source])
  await q.query(
    `insert into manifest_problems (source, file, line, message)
     select $1, r.file, r.line, r.message from jsonb_to_recordset($2::jsonb) as r(file text, line integer, message text)`,
    [source, JSON.stringify(problems)],
  )
}

export async function listProblems(
  q: Query,
): Promise<ReadonlyArray<ManifestProblem & { readonly source: ManifestSource }>> {
  const { rows } = await q.query<ManifestProblem & { source: ManifestSource }>(
    'select source, file, line, message from manifest_problems order by source, file, line, message',
    [],
  )
  return rows
}
