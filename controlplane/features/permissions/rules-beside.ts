import type { PermissionRow } from './store.ts'

type Placed = Pick<PermissionRow, 'gatewayId' | 'agent'>

/** The rules that apply to the agents of this one, of the same Gateway. */
export function rulesBeside(row: Placed, rows: readonly PermissionRow[]): readonly PermissionRow[] {
  return rows.filter(
    ({ gatewayId, agent }) => gatewayId === row.gatewayId && (agent === row.agent || agent === '*'),
  )
}
