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
  return entry === null ? [] : [{ gatewayIds: row.gatewayIds, entry }]
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
function denialOf({ id, name, version, source }: PolicyRow, text: string, reason: string): PolicyEntry {
  const agentsOf = source === 'kubernetes' ? { agentsOf: name.slice(0, name.indexOf('/')) } : {}
  return invalidPolicyEntry({ id, name, version, ...agentsOf, spec: specOf(text), reason })
}

function specOf(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 64, logLevel: 'silent' })
  } catch {
    return null
  }
}
