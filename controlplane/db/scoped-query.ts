import type { Namespaces } from '../../core/wire/access/rights.ts'
import type { Query } from './query.ts'

/**
 * Runs queries on behalf of a user, limited to the namespaces in which the user has the right. This type is not
 * assignable to `Query`. Therefore, the compiler rejects a call of a store function that does not limit its rows.
 */
export type ScopedQuery = {
  readonly namespaces: Namespaces
  /**
   * Runs a statement. The text must contain a condition of `within` for each table that the statement reads. Throws
   * for a text without any such condition.
   */
  rows<R>(values: readonly unknown[], text: (within: Within) => string): Promise<readonly R[]>
}

export type ScopedReads = (namespaces: Namespaces) => ScopedQuery

/**
 * Creates SQL conditions that limit rows to the namespaces. For a user with the right in all namespaces, every
 * condition is `true`.
 */
export type Within = {
  /** Returns the condition for a column that contains a namespace. */
  namespace(column: string): string
  /** Returns the condition for a column that contains names of the form `namespace/name`. */
  name(column: string): string
  /**
   * Returns the condition for two columns of names of the form `namespace/name`. The condition tests `column`, or
   * `other` where `column` is null.
   */
  nameOr(column: string, other: string): string
  /**
   * Returns SQL that runs the query of `select` once per namespace. For a user with the right in all namespaces, the
   * SQL runs the query once. The query for one namespace reads its rows from an index in order, so it can sort and
   * limit the rows without reading all of them. `column` and `other` have the same meaning as in `nameOr`.
   */
  each(column: string, other: string, select: (condition: string) => string): string
  /**
   * Returns the condition for a column that contains a set of namespaces. A null value of the column means all
   * namespaces.
   */
  overlap(column: string): string
  /**
   * Returns the namespaces as a SQL array, for conditions that look up each namespace. Returns SQL null for a user
   * with the right in all namespaces.
   */
  array(): string
  /**
   * Returns the condition for a configuration row. A row of a cluster manifest is selected by the namespace in its
   * name. Any other row is selected if all Gateways that the row applies to are in the namespaces.
   */
  configuration(table: string): string
}

export function createScopedQuery(q: Query, namespaces: Namespaces): ScopedQuery {
  return {
    namespaces,
    async rows<R>(values: readonly unknown[], text: (within: Within) => string) {
      const uses = { count: 0 }
      const sql = text(namespaces === 'all' ? unlimited(uses) : limited(uses, values.length + 1))
      if (uses.count === 0)
        throw new Error(
          'a query on behalf of a user was not limited to their namespaces, so it was not sent: report this as a defect of Chaperone',
        )
      const given = namespaces === 'all' ? values : [...values, [...namespaces]]
      return (await q.query<R>(sql, given)).rows
    },
  }
}

type Uses = { count: number }

function unlimited(uses: Uses): Within {
  const always = () => {
    uses.count++
    return 'true'
  }
  const array = () => 'null::text[]'
  const columns = { namespace: always, name: always, nameOr: always, overlap: always }
  const each: Within['each'] = (_column, _other, select) => select(always())
  return { ...columns, each, array, configuration: always }
}

function limited(uses: Uses, position: number): Within {
  const own = `$${position}::text[]`
  const used = (condition: string) => {
    uses.count++
    return `(${condition})`
  }
  const namedAs = (column: string, namespace: string) =>
    `${column} like '_%/%' and split_part(${column}, '/', 1) = ${namespace}`
  const named = (column: string) => namedAs(column, `any(${own})`)
  return {
    namespace: (column) => used(`${column} = any(${own})`),
    name: (column) => used(named(column)),
    // The expression must equal the expression of the index `traffic_namespace`, so that PostgreSQL uses the index.
    nameOr: (column, other) => used(named(`coalesce(${column}, ${other})`)),
    each: (column, other, select) =>
      `select found.* from unnest(${own}) as own_namespace(name)
       cross join lateral (${select(used(namedAs(`coalesce(${column}, ${other})`, 'own_namespace.name')))}) as found`,
    overlap: (column) => used(`${column} is null or ${column} && ${own}`),
    array: () => used(own),
    configuration: (table) =>
      used(`case when ${table}.source = 'kubernetes' then ${named(`${table}.name`)}
        else cardinality(${table}.gateway_ids) > 0 and not exists (
          select 1 from unnest(${table}.gateway_ids) as bound(id) where not exists (
            select 1 from gateways own where own.id = bound.id and ${named('own.name')}))
        end`),
  }
}
