import { isDeepStrictEqual } from 'node:util'
import { type ParsedPolicy, parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ImportReply } from '../../../core/wire/export.ts'
import type { Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { listAgents } from '../agents/rows.ts'
import { gatewayNamesIn } from '../gateways/rows.ts'
import { listPolicies } from '../policies/rows.ts'
import { fieldsOfNew } from '../policies/service.ts'
import { agentView, policyView } from './bundle-views.ts'

type Kind = ImportReply['errors'][number]['kind']
type View = Readonly<Record<string, unknown>>

/** State of an item of a bundle against the objects of its name. `differs`: fields of a changed item that differ. */
export type ItemComparison = {
  readonly state: 'new' | 'changed' | 'same'
  readonly differs?: readonly string[]
}

export type BundleComparison = (kind: Kind, item: View & { readonly name: string }) => ItemComparison

/**
 * Returns the comparison of bundle items with the agents and policies that exist now. An item is the same when one object
 * of its name has all of the item's fields. Of the fields that a policy omits, those that decide whether and when it applies
 * are compared with the values that an import would store. Other omitted fields are not compared.
 */
export async function compareWithExisting(q: Query): Promise<BundleComparison> {
  const gateways = await gatewayNamesIn(createScopedQuery(q, 'all'))
  const policies = (await listPolicies(q)).map((row) => policyView(row, (id) => gateways.get(id) ?? id))
  const existing: Readonly<Record<Kind, ReadonlyMap<string, readonly View[]>>> = {
    agent: Map.groupBy((await listAgents(q)).map(agentView), ({ name }) => name),
    policy: Map.groupBy(policies, ({ name }) => name),
  }
  return (kind, item) => {
    const views = existing[kind].get(item.name) ?? []
    const wanted = kind === 'policy' && views.length > 0 ? asStored(item) : item
    const differences = views.map((view) => differingFields(wanted, view))
    const [closest] = differences.toSorted((a, b) => a.length - b.length)
    if (closest === undefined) return { state: 'new' }
    return closest.length === 0 ? { state: 'same' } : { state: 'changed', differs: closest }
  }
}

/** Fields whose lists are sets: their order means nothing. */
const SETS: ReadonlySet<string> = new Set(['capabilities', 'tags', 'gateways'])

/**
 * Adds the fields that an import stores for a policy whose item omits them. An item without gateways applies to all
 * gateways.
 */
function asStored(item: View): View {
  const { enabled, priority, mode } = fieldsOfNew(item, repeatedIn(String(item['policyYaml'])))
  return { ...item, enabled, priority, mode, gateways: item['gateways'] }
}

/**
 * Returns the stored fields that the policy text also contains. Returns none for an invalid text, which an import does not
 * store.
 */
function repeatedIn(policyYaml: string): ParsedPolicy['repeated'] {
  try {
    return parsePolicyYaml(policyYaml).repeated
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'validation') return {}
    throw error
  }
}

function differingFields(wanted: View, view: View): readonly string[] {
  return Object.keys(wanted).filter(
    (field) =>
      (wanted[field] !== undefined || field === 'gateways') &&
      !isDeepStrictEqual(comparable(field, wanted[field]), comparable(field, view[field])),
  )
}

function comparable(field: string, value: unknown): unknown {
  return SETS.has(field) && Array.isArray(value) ? value.toSorted() : value
}
