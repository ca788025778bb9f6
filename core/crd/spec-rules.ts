import type * as z from 'zod'

/**
 * Rule of a custom resource over several fields. The API server evaluates the rule as CEL, all other components as a
 * function. A test shows that both have the same result.
 */
export type SpecRule<S> = {
  /** CEL expression over the spec (`self`), in which defaults are applied. */
  readonly cel: string
  /** Path of the invalid field below `spec`. */
  readonly path: readonly string[]
  readonly message: string
  readonly holds: (spec: S) => boolean
}

/** List whose items must be unique. Scalars are compared by value (`keys` is null), objects by the values of `keys`. */
export type ListRule = { readonly path: readonly string[]; readonly keys: readonly string[] | null }

/** Field that must keep its value while the object exists. */
export type ImmutableField = { readonly path: readonly string[]; readonly message: string }

export type SpecRules<S> = {
  readonly cross: ReadonlyArray<SpecRule<S>>
  readonly lists: readonly ListRule[]
  readonly immutable?: readonly ImmutableField[]
}

/** Adds the rules to the schema. Each violation becomes a zod issue that names its field. */
export function withRules<S extends z.ZodType<object>>(schema: S, rules: SpecRules<z.infer<S>>): S {
  return schema.superRefine((spec, context) => {
    for (const { path, message, holds } of rules.cross) {
      if (!holds(spec)) context.addIssue({ code: 'custom', path: [...path], message })
    }
    for (const { path, keys } of rules.lists) {
      for (const { index, first } of repetitions(valueAt(spec, path), keys)) {
        const message = `repeats entry ${first}; keep one of the two`
        context.addIssue({ code: 'custom', path: [...path, index], message })
      }
    }
  })
}

/** Returns the problems of immutable fields that differ between two specs of one object. */
export function immutableProblems(
  { immutable = [] }: Pick<SpecRules<never>, 'immutable'>,
  before: unknown,
  after: unknown,
): readonly string[] {
  return immutable
    .filter(({ path }) => JSON.stringify(valueAt(before, path)) !== JSON.stringify(valueAt(after, path)))
    .map(({ path, message }) => `spec.${path.join('.')}: ${message}`)
}

function valueAt(spec: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value === undefined ? undefined : (value as Record<string, unknown>)[step]),
    spec,
  )
}

function repetitions(
  list: unknown,
  keys: readonly string[] | null,
): ReadonlyArray<{ readonly index: number; readonly first: number }> {
  if (!Array.isArray(list)) return []
  const seen = new Map<string, number>()
  return list.flatMap((item: unknown, index) => {
    const key = JSON.stringify(keys === null ? item : keys.map((name) => valueAt(item, [name])))
    const first = seen.get(key)
    if (first === undefined) seen.set(key, index)
    return first === undefined ? [] : [{ index, first }]
  })
}
