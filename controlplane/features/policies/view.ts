import * as z from 'zod'
import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import { ObjectOrigin } from '../../../core/wire/origin.ts'
import { PoliciesReply } from '../../../core/wire/v1.ts'
import type { PolicyRow } from './store.ts'

/** A policy as agents may see it (spec 2.6). */
export const PolicySummary = PoliciesReply.shape.policies.element

/** The same policy as an admin sees it: with its text, what of it is in force, how its tests went, who manages it. */
export const PolicyDetails = PolicySummary.extend({
  mode: z.enum(['enforce', 'monitor']),
  policyYaml: z.string(),
  version: z.int(),
  /** Whether the newest text is the one in force. */
  active: z.boolean(),
  active_version: z.int().nullable(),
  tests: z.array(z.object({ name: z.string(), passed: z.boolean(), failure: z.string().optional() })),
  source: z.enum(['kubernetes', 'api', 'file']),
  managed_by: z.string().nullable(),
  origin: ObjectOrigin,
  updated_at: z.string(),
  /**
   * Why the text in force no longer compiles, so that its broken conditions only tighten, or why a manifest was never in
   * force, so that its scope is denied. Absent when nothing is wrong.
   */
  problems: z.array(z.string()).optional(),
})

export function policySummary(row: PolicyRow): z.infer<typeof PolicySummary> {
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

/** What is wrong with the texts in force, judged once for each version. */
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
): z.infer<typeof PolicyDetails> {
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
