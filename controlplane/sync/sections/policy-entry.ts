import { parse } from 'yaml'
import { invalidPolicyEntry } from '../../../core/decision/policies/invalid-policy.ts'
import { readStoredPolicy } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import type { PolicyRow } from '../../features/policies/rows.ts'
import type { Bound } from './configuration.ts'

/** Namespaces that decide where policies apply: those of the platform team and those of the Gateways. */
export type Tenancy = {
  readonly platformNamespaces: ReadonlySet<string>
  /** Returns the namespace of the Gateway with this id; empty for an unknown one. */
  readonly namespaceOf: (gatewayId: string) => string
}

/**
 * Returns the entries for one policy: the text in force, or, for a manifest that was never in force, the denial of its
 * scope. None for a text of the API that was never in force.
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
  // The policy was bound to all Gateways while its namespace belonged to the platform team. It no longer does.
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
 * Returns the entry of the text in force. A condition that no longer compiles fails its evaluation; an unreadable text
 * denies its scope.
 */
function inForce(row: PolicyRow, text: string): PolicyEntry | null {
  try {
    const { id, name, priority, mode } = row
    const document = { ...readStoredPolicy(text), tests: [] }
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
