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

/**
 * Result of comparing an item of a bundle with the existing objects of the same name. `differs`: fields of a changed
 * item that differ.
 */
export type ItemComparison = {
  readonly state: 'new' | 'changed' | 'same'
  readonly differs?: readonly string[]
}

export type BundleComparison = (kind: Kind, item: View & { readonly name: string }) => ItemComparison

/**
 * Returns a function that compares bundle items with the existing agents and policies. An item is `same` when one
 * object of its name has all fields of the item. For fields of a policy that its item omits (`enabled`, `priority`,
 * `mode`, `gateways`), the values that an import would store are compared. Other omitted fields are not compared.
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

/** Names of fields that contain lists without an order. */
const SETS: ReadonlySet<string> = new Set(['capabilities', 'tags', 'gateways'])

/**
 * Adds the values that an import would store for omitted fields of a policy. An omitted `gateways` means all gateways.
 */
function asStored(item: View): View {
  const { enabled, priority, mode } = fieldsOfNew(item, repeatedIn(String(item['policyYaml'])))
  return { ...item, enabled, priority, mode, gateways: item['gateways'] }
}

/**
 * Returns the fields of the policy row that the policy text states as well. Returns no fields for an invalid text,
 * which an import would refuse.
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
