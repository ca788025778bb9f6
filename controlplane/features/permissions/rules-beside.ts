import type { PermissionRow } from './rows.ts'

type Placed = Pick<PermissionRow, 'gatewayId' | 'agent'>

/**
 * Returns the rows of the same Gateway that apply to the agent of `row` or to all agents. If `rows` contains
 * `row`, so does the result.
 */
export function rulesBeside(row: Placed, rows: readonly PermissionRow[]): readonly PermissionRow[] {
  return rows.filter(
    ({ gatewayId, agent }) => gatewayId === row.gatewayId && (agent === row.agent || agent === '*'),
  )
}
