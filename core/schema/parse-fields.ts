import type * as z from 'zod'
import { fieldAdvice } from '../crd/field-advice.ts'
import { fieldPath } from '../field-path.ts'
import { fieldMessage } from './field-message.ts'
import { knownFields } from './known-fields.ts'

/** Problem of one field. `message` continues the path of the field, such as `must be allow or deny`. */
export type FieldProblem = {
  readonly path: readonly (string | number)[]
  readonly message: string
  /** True when the schema has no such field. `message` is then the advice, such as `did you mean decision?`. */
  readonly isUnknown: boolean
}

export type ParsedFields<T> =
  | { readonly data: T; readonly problems: null }
  | { readonly data: null; readonly problems: readonly FieldProblem[] }

export type ParsedPlace = {
  /** Kind of the manifest, for advice about former fields; absent if the value is not part of a manifest. */
  readonly kind?: unknown
  /** Path of the value within the manifest. */
  readonly parent?: readonly string[]
}

/** Parses input of a user. Returns the data, or every problem with the text of `fieldMessage`. */
export function parseFields<S extends z.ZodType>(
  schema: S,
  value: unknown,
  place: ParsedPlace = {},
): ParsedFields<z.output<S>> {
  const result = schema.safeParse(value, { error: fieldMessage })
  if (result.success) return { data: result.data, problems: null }
  return { data: null, problems: result.error.issues.flatMap((issue) => problemsOf(issue, schema, place)) }
}

/** Formats the problem with its path. `whole` names the value itself, when the path is empty. */
export function fieldProblemText({ path, message, isUnknown }: FieldProblem, whole: string): string {
  return isUnknown
    ? `unknown field ${fieldPath(path)}; ${message}`
    : `${fieldPath(path) || whole}: ${message}`
}

function problemsOf(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  { kind = null, parent = [] }: ParsedPlace,
): readonly FieldProblem[] {
  const inner = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
  const path = [...parent, ...inner]
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message, isUnknown: false }]
  const known = knownFields(schema, inner)
  return issue.keys.map((key) => {
    const field = [...path, key]
    return { path: field, message: fieldAdvice(kind, field, known), isUnknown: true }
  })
}
