import type { PermissionRow } from './rows.ts'

type Placed = Pick<PermissionRow, 'gatewayId' | 'agent'>

/**
 * Returns the rows of the same Gateway that are for the agent of `row` or for all agents. Includes `row` itself when
 * `rows` contains it.
 */
export function rulesBeside(row: Placed, rows: readonly PermissionRow[]): readonly PermissionRow[] {
  return rows.filter(
    ({ gatewayId, agent }) => gatewayId === row.gatewayId && (agent === row.agent || agent === '*'),
  )
}
