import { ManifestOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import type { PermissionRow } from '../permissions/rows.ts'
import {
  COLUMNS,
  EVALUATED_AT,
  type EvaluatedRow,
  type ManifestRow,
  type ObjectKey,
  type ObjectName,
} from './rows.ts'

/** A row of a Permission manifest. */
export type OwnedPermission = Omit<PermissionRow, 'id' | 'createdAt' | 'origin'>

/** Returns `namespace/name` of an object. */
export function fullNameOf({ namespace, name }: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}

/** Returns the value of the column `owner` in the rows of a Permission manifest. */
export function ownerOf(key: Pick<ObjectKey, 'namespace' | 'name'>): string {
  return `Permission/${fullNameOf(key)}`
}

/**
 * Serialises transactions that write manifest objects until this transaction ends, because the Gateways to which an
 * object applies depend on other objects.
 */
export async function lockManifests(q: Query): Promise<void> {
  await q.query("select pg_advisory_xact_lock(hashtextextended('manifest objects', 0))", [])
}

/**
 * Returns the database's time, rounded up to the next full second. The result is later than the creation time of every
 * existing object.
 */
export async function nextSecond(q: Query): Promise<string> {
  const { rows } = await q.query<{ time: string }>(
    `select to_char(date_trunc('second', clock_timestamp() at time zone 'UTC') + interval '1 second',
       'YYYY-MM-DD"T"HH24:MI:SS"Z"') as time`,
    [],
  )
  return onlyRow(rows).time
}

/** Takes the lock of `lockManifests` without waiting. Returns false when another transaction holds the lock. */
export async function tryLockManifests(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ isLocked: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended('manifest objects', 0)) as "isLocked"`,
    [],
  )
  return rows[0]?.isLocked === true
}

export async function listManifests(q: Query): Promise<readonly EvaluatedRow[]> {
  const { rows } = await q.query<EvaluatedRow>(
    `select ${COLUMNS}, ${EVALUATED_AT} from manifest_objects order by kind, namespace, name`,
    [],
  )
  return rows
}

/** Returns the known origins of the manifests in the namespaces, by the key `Kind/namespace/name`. */
export async function listManifestOriginsIn(q: ScopedQuery): Promise<ReadonlyMap<string, ManifestOrigin>> {
  const rows = await q.rows<{ key: string; origin: unknown }>(
    [],
    (within) => `select kind || '/' || namespace || '/' || name as key, stored -> 'origin' as origin
     from manifest_objects where stored -> 'origin' is not null and ${within.namespace('namespace')}`,
  )
  return new Map(rows.map(({ key, origin }) => [key, ManifestOrigin.parse(origin)]))
}

export async function getManifest(q: Query, key: ObjectKey): Promise<ManifestRow | undefined> {
  return (await getManifests(q, [key]))[0]
}

export async function getManifests(q: Query, keys: readonly ObjectName[]): Promise<readonly ManifestRow[]> {
  const { rows } = await q.query<ManifestRow>(
    `select ${COLUMNS} from manifest_objects
       join unnest($1::text[], $2::text[], $3::text[]) as wanted(kind, namespace, name) using (kind, namespace, name)`,
    [keys.map(({ kind }) => kind), keys.map(({ namespace }) => namespace), keys.map(({ name }) => name)],
  )
  return rows
}

/** Identity and result of a manifest object, without its spec. */
export type ObjectState = ObjectKey &
  Pick<ManifestRow, 'uid' | 'source' | 'managedBy' | 'accepted'> & {
    readonly inForce: string | null
    readonly isUnnamed: boolean
  }

export function stateOf({ stored, ...row }: ManifestRow): ObjectState {
  return { ...row, inForce: stored.outcome?.in_force ?? null, isUnnamed: stored.isUnnamed === true }
}

export async function listObjectStates(q: Query): Promise<readonly ObjectState[]> {
  const { rows } = await q.query<ObjectState>(
    `select kind, namespace, name, uid, source, managed_by as "managedBy", accepted,
       stored #>> '{outcome,in_force}' as "inForce", coalesce((stored -> 'isUnnamed')::boolean, false) as "isUnnamed"
     from manifest_objects order by kind, namespace, name`,
    [],
  )
  return rows
}

/**
 * Lists the objects that have at least one of these stored references (see `storedReferences`); null means
 * all objects. Omits Gateways. `isWaitingConnector` lists only Connectors that are refused, or have no effect
 * at some referenced Gateways.
 */
export async function listReferring(
  q: Query,
  {
    refs,
    isWaitingConnector,
  }: { readonly refs: readonly string[] | null; readonly isWaitingConnector: boolean },
): Promise<readonly ManifestRow[]> {
  const kinds = isWaitingConnector
    ? "kind = 'Connector' and (not accepted or stored #>> '{outcome,problem}' is not null)"
    : "kind <> 'Gateway'"
  const { rows } = await q.query<ManifestRow>(
    `select ${COLUMNS} from manifest_objects where ${kinds} and ${refs === null ? '$1::text[] is null' : 'refs && $1::text[]'}
     order by kind, namespace, name`,
    [refs],
  )
  return rows
}

/**
 * Lists the objects, except Gateways, of these namespaces. Also lists Policies that select namespaces by labels,
 * because changed labels may affect these Policies.
 */
export async function listOfNamespaces(q: Query, names: readonly string[]): Promise<readonly ManifestRow[]> {
  const { rows } = await q.query<ManifestRow>(
    `select ${COLUMNS} from manifest_objects where kind <> 'Gateway'
       and (namespace = any($1::text[]) or kind = 'Policy' and stored -> 'spec' ? 'namespaceSelector')
     order by kind, namespace, name`,
    [names],
  )
  return rows
}

export async function listPolicyObjects(q: Query): Promise<readonly ManifestRow[]> {
  const { rows } = await q.query<ManifestRow>(
    `select ${COLUMNS} from manifest_objects where kind = 'Policy' order by namespace, name`,
    [],
  )
  return rows
}

const ROWS_PER_STATEMENT = 500

/** Inserts or replaces the rows, with the references of each row. The keys of the rows must differ. */
export async function putManifests(
  q: Query,
  rows: ReadonlyArray<ManifestRow & { readonly refs: readonly string[] }>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
    const part = rows.slice(at, at + ROWS_PER_STATEMENT)
    await q.query(PUT, [JSON.stringify(part)])
  }
}

const PUT = `insert into manifest_objects (kind, namespace, name, uid, generation, source, managed_by, accepted, reasons,
    stored, refs)
  select r.kind, r.namespace, r.name, r.uid, r.generation, r.source, r."managedBy", r.accepted, r.reasons, r.stored, r.refs
  from jsonb_to_recordset($1::jsonb) as r(kind text, namespace text, name text, uid text, generation bigint, source text,
    "managedBy" text, accepted boolean, reasons text[], stored jsonb, refs text[])
  on conflict (kind, namespace, name) do update set uid = excluded.uid, generation = excluded.generation,
    source = excluded.source, managed_by = excluded.managed_by, accepted = excluded.accepted,
    reasons = excluded.reasons, stored = excluded.stored, refs = excluded.refs, updated_at = now()`

export async function deleteManifest(q: Query, key: ObjectKey): Promise<boolean> {
  const { rowCount } = await q.query(
    'delete from manifest_objects where kind = $1 and namespace = $2 and name = $3',
    [key.kind, key.namespace, key.name],
  )
  return rowCount > 0
}

/** Lists the rows of Permission manifests by the column `owner`. */
export async function listOwnedPermissions(
  q: Query,
  owners: readonly string[],
): Promise<readonly OwnedPermission[]> {
  const { rows } = await q.query<OwnedPermission>(
    `select org_id as "orgId", gateway_id as "gatewayId", agent, connector_type as "connectorType",
       action_pattern as "actionPattern", decision, reason, source, managed_by as "managedBy", owner
     from permissions where owner = any($1::text[])`,
    [owners],
  )
  return rows
}

/** Lists Connectors of manifest files that name this credential of the encrypted store. */
export async function listOfCredential(q: Query, name: string): Promise<readonly ManifestRow[]> {
  const { rows } = await q.query<ObjectKey>(
    `select kind, namespace, name from manifest_objects
     where kind = 'Connector' and source = 'file' and stored #>> '{spec,credential,vault}' = $1`,
    [name],
  )
  return getManifests(q, rows)
}
