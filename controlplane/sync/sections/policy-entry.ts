import { parse } from 'yaml'
import { invalidPolicyEntry } from '../../../core/decision/policies/invalid-policy.ts'
import { readStoredPolicy } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import type { PolicyRow } from '../../features/policies/store.ts'
import type { Bound } from './configuration.ts'

/** Of a cluster: whose namespace is whose. */
export type Tenancy = {
  readonly platformNamespaces: ReadonlySet<string>
  /** Of the Gateway with this id; empty for one that is not there. */
  readonly namespaceOf: (gatewayId: string) => string
}

/**
 * What gateways are sent for one policy: the text in force; for the manifest of a policy that was never in force, the
 * denial of its scope. Nothing for a text of the API that was never in force.
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
  // Bound when its namespace was the platform's.
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

/** Conditions that no longer compile count as such that cannot be evaluated; a text that cannot be read denies its scope. */
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
