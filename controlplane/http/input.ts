import type * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'

const MAX_DEPTH = 64

/** The parsed value. Throws `validation` with `details` = `path: message; path: message` (spec 7). */
export function parseInput<S extends z.ZodType>(
  schema: S | undefined,
  value: unknown,
): z.infer<S> | undefined {
  refuseUnstorable(value)
  if (schema === undefined) return undefined
  // A missing body is an empty one: the message then names the fields instead of "expected object".
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  throw validationError(result.error.issues.flatMap(sentences))
}

/** The error of spec 7.2 for these `path: message` sentences. */
export function validationError(list: readonly string[]): ChaperoneError {
  const details = [...new Set(list)].join('; ')
  return new ChaperoneError('validation', { detail: details, extra: { details } })
}

type Issue = z.core.$ZodIssue

function sentences(issue: Issue): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: is not a known field`)
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [nearest] = [...issue.errors].sort((a, b) => a.length - b.length)
    return (nearest ?? []).flatMap((inner) => sentences({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  const isMissing = issue.code === 'invalid_type' && /received undefined$/.test(issue.message)
  return [`${pathText(issue.path)}: ${isMissing ? 'is required' : issue.message}`]
}

function pathText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'body' : path.map(String).join('.')
}

/**
 * Text that PostgreSQL cannot store (NUL) or that is no Unicode (lone surrogates) is refused here, once, instead of
 * failing deep inside or being changed on the way; so is nesting that no schema of ours needs.
 */
function refuseUnstorable(value: unknown): void {
  const found = unstorableIn(value, 0)
  if (found !== null) throw validationError([`${pathText(found.path.reverse())}: ${found.why}`])
}

/** The path is gathered on the way back, deepest key first: almost always there is nothing to find. */
type Unstorable = { readonly path: string[]; readonly why: string }

function unstorableIn(value: unknown, depth: number): Unstorable | null {
  if (depth > MAX_DEPTH) return { path: [], why: 'is nested too deeply' }
  if (typeof value === 'string') return isStorable(value) ? null : badText()
  return typeof value === 'object' && value !== null ? unstorableItem(value, depth) : null
}

function unstorableItem(value: object, depth: number): Unstorable | null {
  for (const [key, item] of Object.entries(value)) {
    if (!isStorable(key)) return badText()
    const found = unstorableIn(item, depth + 1)
    if (found === null) continue
    // Of what is nested too deeply the first keys are enough.
    if (depth < 3 || found.why === BAD_TEXT) found.path.push(key)
    return found
  }
  return null
}

const BAD_TEXT = 'has a NUL or an incomplete Unicode character'

function badText(): Unstorable {
  return { path: [], why: BAD_TEXT }
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
