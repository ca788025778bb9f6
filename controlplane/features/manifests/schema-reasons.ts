import type * as z from 'zod'
import { fieldAdvice } from '../../../core/crd/field-advice.ts'
import { knownFields } from '../../../core/crd/known-fields.ts'
import type { ResourceKind } from '../../../core/crd/schemas.ts'
import { fieldPath } from '../../../core/field-path.ts'

const MAX_REASONS = 20

/** Returns the errors of a manifest's `spec`, each with the path of its field, at most 20. */
export function schemaReasons(
  kind: ResourceKind,
  schema: z.core.$ZodType,
  { issues }: z.ZodError,
): readonly string[] {
  const reasons = issues.flatMap((issue) => reasonsOf(issue, { kind, schema }))
  const left = reasons.length - MAX_REASONS
  return left > 0 ? [...reasons.slice(0, MAX_REASONS), `and ${left} more`] : reasons
}

type Place = { readonly kind: ResourceKind; readonly schema: z.core.$ZodType }

function reasonsOf(issue: z.core.$ZodIssue, { kind, schema }: Place): readonly string[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
  const field = ['spec', ...path]
  if (issue.code !== 'unrecognized_keys') return [`${fieldPath(field)}: ${issue.message}`]
  const known = knownFields(schema, path)
  return issue.keys.map((key) => {
    const unknown = [...field, key]
    return `${fieldPath(unknown)}: is unknown; ${fieldAdvice(kind, unknown, known)}`
  })
}
