import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ObjectOrigin } from '../../../core/wire/operator/origin.ts'
import type { PolicyDetails, PolicySummary } from '../../../core/wire/policies.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { PolicyRow } from './rows.ts'

export function policySummary(row: PolicyRow): PolicySummary {
  const { id, name, description, enabled, priority, tags } = row
  return {
    id,
    name,
    description,
    enabled,
    priority,
    tags: [...tags],
    created_at: row.createdAt.toISOString(),
  }
}

/**
 * Returns a function that lists the problems of a policy text in force. Caches the problems per version of the policy.
 */
export function createTextProblems(): (row: PolicyRow) => readonly string[] {
  const known = new Map<string, readonly string[]>()
  return ({ id, activeVersion, activeYaml, invalid }) => {
    if (activeYaml === null) return invalid === null ? [] : [invalid]
    const key = `${id}@${activeVersion}`
    const problems = known.get(key) ?? problemsOf(activeYaml)
    if (known.size > 2 * LIMITS.maxPolicies) known.clear()
    known.set(key, problems)
    return problems
  }
}

function problemsOf(text: string): readonly string[] {
  try {
    parsePolicyYaml(text)
    return []
  } catch (error) {
    if (error instanceof ChaperoneError) return [error.message]
    throw error
  }
}

export function policyDetails(
  row: PolicyRow,
  origin: ObjectOrigin,
  problems: readonly string[] = [],
): PolicyDetails {
  return {
    ...policySummary(row),
    mode: row.mode,
    policyYaml: row.policyYaml,
    version: row.version,
    active: row.activeVersion === row.version,
    active_version: row.activeVersion,
    tests: [...row.tests],
    source: row.source,
    managed_by: row.managedBy,
    origin,
    updated_at: row.updatedAt.toISOString(),
    ...(problems.length === 0 ? {} : { problems: [...problems] }),
  }
}
