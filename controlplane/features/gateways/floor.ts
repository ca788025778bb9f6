import { type FloorRules, floored } from '../../../core/crd/floors.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { GatewayRow } from './rows.ts'

/**
 * Returns the row with the spec in force, which the minimum strictness (floor) may have raised. The stored row keeps
 * the spec as written. Only the source `kubernetes` proves that a Gateway belongs to a platform namespace: rows of the
 * API can have any name.
 */
export function atItsFloor(row: GatewayRow, rules: FloorRules | undefined): GatewayRow {
  const namespace = row.source === 'kubernetes' ? namespaceOf(row.name) : ''
  return { ...row, spec: floored(row.spec, namespace, rules).spec }
}
