import * as z from 'zod'
import { PoliciesReply } from '../../core/wire/v1.ts'
import type { PolicyRow } from '../store/policies.ts'

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
  updated_at: z.string(),
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

export function policyDetails(row: PolicyRow): z.infer<typeof PolicyDetails> {
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
    updated_at: row.updatedAt.toISOString(),
  }
}
