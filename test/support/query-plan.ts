import type { Db, Query } from '../../controlplane/db/query.ts'

/** Node of a plan of `explain (analyze, format json)`. */
export type PlanNode = Readonly<Record<string, unknown>> & { readonly Plans?: readonly PlanNode[] }

/** Runs the work, and returns the plans of its statements, with the numbers of rows that they read. */
export async function plansOf(db: Db, work: (q: Query) => Promise<unknown>): Promise<readonly PlanNode[]> {
  const plans: PlanNode[] = []
  await work({
    async query(text, values = []) {
      const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) ${text}`,
        values,
      )
      const plan = rows[0]?.['QUERY PLAN'][0].Plan
      if (plan !== undefined) plans.push(plan)
      return db.query(text, values) as never
    },
  })
  return plans
}

/** Rows that the statement touched: those that it kept and those that filters and rechecks removed. */
export function touchedRows(plan: PlanNode): number {
  const removed = numberOf(plan, 'Rows Removed by Filter') + numberOf(plan, 'Rows Removed by Index Recheck')
  const own = 'Relation Name' in plan || 'Index Name' in plan ? numberOf(plan, 'Actual Rows') + removed : 0
  return (
    own * numberOf(plan, 'Actual Loops') + childrenOf(plan).reduce((sum, each) => sum + touchedRows(each), 0)
  )
}

/** Rows that all sorts of the statement received. */
export function sortedRows(plan: PlanNode): number {
  const isSort = plan['Node Type'] === 'Sort'
  const own = isSort
    ? childrenOf(plan).reduce(
        (sum, each) => sum + numberOf(each, 'Actual Rows') * numberOf(each, 'Actual Loops'),
        0,
      )
    : 0
  return own + childrenOf(plan).reduce((sum, each) => sum + sortedRows(each), 0)
}

/** Names of the tables and partitions with rows that the statement reads without an index. */
export function scannedTables(plan: PlanNode): readonly string[] {
  const isRead = plan['Node Type'] === 'Seq Scan' && touchedRows({ ...plan, Plans: [] }) > 0
  const own = isRead ? [String(plan['Relation Name'])] : []
  return [...own, ...childrenOf(plan).flatMap(scannedTables)]
}

function childrenOf({ Plans = [] }: PlanNode): readonly PlanNode[] {
  return Plans
}

function numberOf(plan: PlanNode, key: string): number {
  return Number(plan[key] ?? 0)
}
