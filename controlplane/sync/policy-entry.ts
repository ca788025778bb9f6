import { parse } from 'yaml'
import { invalidPolicyEntry } from '../../core/decision/invalid-policy.ts'
import { readStoredPolicy } from '../../core/decision/policy-document.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { PolicyEntry } from '../../core/wire/sync.ts'
import type { PolicyRow } from '../store/policies.ts'
import type { Bound } from './configuration.ts'

/**
 * What gateways are sent for one policy: the text in force; for the manifest of a policy that was never in force, the
 * denial of its scope. Nothing for a text of the API that was never in force.
 */
export function policyEntry(row: PolicyRow): ReadonlyArray<Bound<PolicyEntry>> {
  if (!row.enabled) return []
  const entry = row.activeYaml === null ? neverInForce(row) : inForce(row, row.activeYaml)
  if (entry === null) return []
  if (row.lostGatewayIds.length === 0) return [{ gatewayIds: row.gatewayIds, entry }]
  const lost = { ...entry, ...agentsOf(row), tightensOnly: true }
  const gatewayIds = row.gatewayIds.filter((id) => !row.lostGatewayIds.includes(id))
  const bound = gatewayIds.length === 0 ? [] : [{ gatewayIds, entry }]
  return [...bound, { gatewayIds: row.lostGatewayIds, entry: lost }]
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

/** A tenant's invalid policy denies its own agents only; a folder and the API speak for the whole installation. */
function denialOf(row: PolicyRow, text: string, reason: string): PolicyEntry {
  const { id, name, version } = row
  return invalidPolicyEntry({ id, name, version, ...agentsOf(row), spec: specOf(text), reason })
}

/** The agents of its own namespace. A manifests folder has one owner, and agents of one machine have no namespace. */
function agentsOf({ name, source }: PolicyRow): Pick<PolicyEntry, 'agentsOf'> {
  return source === 'kubernetes' ? { agentsOf: name.slice(0, name.indexOf('/')) } : {}
}

function specOf(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 64, logLevel: 'silent' })
  } catch {
    return null
  }
}
