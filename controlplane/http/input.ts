import type * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { fieldMessage } from '../../core/schema/field-message.ts'
import { knownFields } from '../../core/schema/known-fields.ts'
import { unstorableIn } from '../../core/storable.ts'

/**
 * Parses input by a schema. Throws `validation`; the `details` of the error have the form `path: message; path:
 * message` (spec 7).
 */
export function parseInput<S extends z.ZodType>(
  schema: S | undefined,
  value: unknown,
): z.infer<S> | undefined {
  const unstorable = unstorableIn(value)
  if (unstorable !== null) throw validationError([`${pathText(unstorable.path)}: ${unstorable.why}`])
  if (schema === undefined) return undefined
  // A missing body is parsed as an empty object, so that the error names the missing fields.
  const result = schema.safeParse(value ?? {}, { error: fieldMessage })
  if (result.success) return result.data
  throw validationError(result.error.issues.flatMap((issue) => sentences(issue, schema)))
}

/** Creates a validation error (spec 7.2) from `path: message` entries. */
export function validationError(list: readonly string[]): ChaperoneError {
  const details = [...new Set(list)].join('; ')
  return new ChaperoneError('validation', { detail: details, extra: { details } })
}

type Issue = z.core.$ZodIssue

function sentences(issue: Issue, schema: z.ZodType): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(
      schema,
      issue.path.map((step) => (typeof step === 'number' ? step : String(step))),
    )
    return issue.keys.map(
      (key) => `${pathText([...issue.path, key])}: is not a known field${advice(key, known)}`,
    )
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [nearest] = [...issue.errors].sort((a, b) => a.length - b.length)
    return (nearest ?? []).flatMap((inner) =>
      sentences({ ...inner, path: [...issue.path, ...inner.path] }, schema),
    )
  }
  return [`${pathText(issue.path)}: ${issue.message}`]
}

/** Advice by the name of a field that manifests may have and that requests may not have. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  [
    'credential',
    '; send the secret in token, or name its source in a manifest and apply it: chaperone apply FILE',
  ],
  ['connectors', '; declare Connectors in a manifest and apply it: chaperone apply FILE'],
])

function advice(key: string, known: readonly string[]): string {
  const given = ADVICE.get(key)
  if (given !== undefined) return given
  const suggestion = nearest(key, known)
  return suggestion === undefined ? '' : `; did you mean ${suggestion}?`
}

function pathText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'body' : path.map(String).join('.')
}
