import type { Resource } from '../../action/action.ts'
import { canonicalResource } from '../names.ts'
import { nameRulesOf } from '../registry.ts'

/** The target in the one spelling that the provider of this connector type takes for the same name. */
export function canonicalTarget(connectorType: string, resource: Resource): string | undefined {
  return canonicalResource(nameRulesOf(connectorType), resource).target
}
