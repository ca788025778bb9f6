import { type FloorRules, floored } from '../../../core/crd/floors.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { GatewayRow } from './rows.ts'

/**
 * Returns the row with the spec in force: the minimum strictness that the platform team set (floor) may raise the
 * stored spec. The stored row keeps the spec as written. Only rows with the source `kubernetes` prove that a Gateway
 * belongs to a namespace, because rows of the API can have any name.
 */
export function atItsFloor(row: GatewayRow, rules: FloorRules | undefined): GatewayRow {
  const namespace = row.source === 'kubernetes' ? namespaceOf(row.name) : ''
  return { ...row, spec: floored(row.spec, namespace, rules).spec }
}
