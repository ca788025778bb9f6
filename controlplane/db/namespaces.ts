import type { Labels } from '../../core/crd/gateway/allowed-namespaces.ts'
import type { Query } from './query.ts'

/** A namespace of the cluster, as the operator reported it. */
export type NamespaceRow = { readonly name: string; readonly labels: Labels }

/**
 * Returns the labels of a namespace. Returns undefined outside of a cluster, and for a namespace that the operator
 * has not reported.
 */
export async function namespaceLabels(q: Query, name: string): Promise<Labels | undefined> {
  return (await labelsOf(q, [name])).get(name)
}

export async function labelsOf(q: Query, names: readonly string[]): Promise<ReadonlyMap<string, Labels>> {
  const { rows } = await q.query<NamespaceRow>('select name, labels from namespaces where name = any($1)', [
    names,
  ])
  return new Map(rows.map(({ name, labels }) => [name, labels]))
}

/** Lists the namespaces that contain a gateway, an agent or a manifest. */
export async function governedNamespaces(q: Query): Promise<readonly string[]> {
  const { rows } = await q.query<{ name: string }>(
    `select split_part(name, '/', 1) as name from (select name from gateways union all select name from agents) as named
     where name like '_%/%'
     union select namespace from manifest_objects order by 1`,
    [],
  )
  return rows.map(({ name }) => name)
}

/** Replaces the stored namespaces. Returns the names of namespaces that were added, removed or have changed labels. */
export async function replaceNamespaces(
  q: Query,
  namespaces: readonly NamespaceRow[],
): Promise<readonly string[]> {
  type Named = { readonly name: string }
  const removed = await q.query<Named>('delete from namespaces where name <> all($1) returning name', [
    namespaces.map(({ name }) => name),
  ])
  const written = await q.query<Named>(
    `insert into namespaces (name, labels)
     select r.name, r.labels from jsonb_to_recordset($1::jsonb) as r(name text, labels jsonb)
     on conflict (name) do update set labels = excluded.labels where namespaces.labels <> excluded.labels
     returning name`,
    [JSON.stringify(namespaces)],
  )
  return [...removed.rows, ...written.rows].map(({ name }) => name)
}
