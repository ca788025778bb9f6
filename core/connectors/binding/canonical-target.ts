import type { Resource } from '../../action/action.ts'
import { canonicalResource } from '../names.ts'
import { nameRulesOf } from '../registry.ts'

/** Returns the target of a resource in the canonical spelling of the provider of this connector type. */
export function canonicalTarget(connectorType: string, resource: Resource): string | undefined {
  return canonicalResource(nameRulesOf(connectorType), resource).target
}
