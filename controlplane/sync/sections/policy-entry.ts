import { parse } from 'yaml'
import { invalidPolicyEntry } from '../../../core/decision/policies/invalid-policy.ts'
import { readStoredPolicy } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import type { PolicyRow } from '../../features/policies/rows.ts'
import type { Bound } from './configuration.ts'

/** Namespaces that determine where policies apply: the namespaces of the platform team and of the Gateways. */
export type Tenancy = {
  readonly platformNamespaces: ReadonlySet<string>
  /** Returns the namespace of the Gateway with this id; an empty string for an unknown Gateway. */
  readonly namespaceOf: (gatewayId: string) => string
}

/**
 * Returns the entries for one policy, with its last accepted text (`activeYaml`). If no text of a manifest was ever
 * accepted, the entries deny all actions in the scope of the manifest. Returns no entries for a disabled policy, for
 * a policy of the API whose text was never accepted, and for an invalid text in mode `monitor`.
 */
export function policyEntry(row: PolicyRow, tenancy: Tenancy): ReadonlyArray<Bound<PolicyEntry>> {
  if (!row.enabled) return []
  const entry = row.activeYaml === null ? neverInForce(row) : inForce(row, row.activeYaml)
  if (entry === null) return []
  if (row.source !== 'kubernetes') return [{ gatewayIds: row.gatewayIds, entry }]
  const namespace = namespaceOf(row)
  if (tenancy.platformNamespaces.has(namespace))
    return [{ gatewayIds: row.gatewayIds, entry: { ...entry, tier: 'platform' } }]
  const own = { agentsOf: namespace }
  // A tenant's policy has an empty list of Gateways only if its namespace belonged to the platform team when the list
  // was computed. The policy stays in force at all Gateways, limited to agents of its namespace.
  if (row.gatewayIds.length === 0) return [{ gatewayIds: [], entry: { ...entry, tier: 'guest', ...own } }]
  const owned = row.gatewayIds.filter((id) => tenancy.namespaceOf(id) === namespace)
  const guest = row.gatewayIds.filter((id) => !owned.includes(id) && !row.lostGatewayIds.includes(id))
  const parts: ReadonlyArray<Bound<PolicyEntry>> = [
    { gatewayIds: owned, entry: { ...entry, tier: 'gateway', ...(entry.invalid === undefined ? {} : own) } },
    { gatewayIds: guest, entry: { ...entry, tier: 'guest', ...own } },
    { gatewayIds: row.lostGatewayIds, entry: { ...entry, tier: 'guest', ...own, tightensOnly: true } },
  ]
  return parts.filter(({ gatewayIds }) => gatewayIds.length > 0)
}

function neverInForce(row: PolicyRow): PolicyEntry | null {
  if (row.invalid === null || row.mode === 'monitor') return null
  return denialOf(row, row.policyYaml, row.invalid)
}

/**
 * Returns the policy entry that gateways receive for the accepted text. An unreadable text gives an entry
 * that denies the scope of the policy, or null in mode `monitor`. A condition that cannot be compiled fails
 * when it is evaluated.
 */
function inForce(row: PolicyRow, text: string): PolicyEntry | null {
  try {
    const { id, name, priority, mode } = row
    const { grants: _grants, ...document } = { ...readStoredPolicy(text), tests: [] }
    return { id, name, version: row.activeVersion ?? row.version, priority, mode, document }
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    if (row.mode === 'monitor') return null
    return denialOf(row, text, error.message)
  }
}

function denialOf({ id, name, version }: PolicyRow, text: string, reason: string): PolicyEntry {
  return invalidPolicyEntry({ id, name, version, spec: specOf(text), reason })
}

function namespaceOf({ name }: PolicyRow): string {
  return name.slice(0, name.indexOf('/'))
}

function specOf(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 64, logLevel: 'silent' })
  } catch {
    return null
  }
}
