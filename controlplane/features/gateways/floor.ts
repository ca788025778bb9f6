import { type FloorRules, floored } from '../../../core/crd/gateway/floors.ts'
import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { GatewayRow } from './rows.ts'

/**
 * Returns the row with the spec in force. The platform team may have set a minimum strictness (floor), which makes this
 * spec stricter than the stored spec. The floor applies only to rows with the source `kubernetes`: rows of the API can
 * have any name, so their name does not prove to which namespace they belong.
 */
export function atItsFloor(row: GatewayRow, rules: FloorRules | undefined): GatewayRow {
  const namespace = row.source === 'kubernetes' ? namespaceOf(row.name) : ''
  return { ...row, spec: floored(row.spec, namespace, rules).spec }
}
