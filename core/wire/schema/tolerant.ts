import * as z from 'zod'

/**
 * Returns a schema with the same fields and bounds that ignores unknown fields at every depth. Custom resources refuse
 * unknown fields as mistakes of their authors. In messages between components, unknown fields come from a newer
 * version.
 */
export function tolerant<S extends z.ZodType>(schema: S): S {
  const known = definition(schema)
  const parts: Partial<Record<keyof Definition, unknown>> = {}
  if (known.shape !== undefined) {
    parts.shape = Object.fromEntries(
      Object.entries(known.shape).map(([name, inner]) => [name, tolerant(inner)]),
    )
    if (definitionOf(known.catchall)?.type === 'never') parts.catchall = undefined
  }
  for (const name of INNER) {
    const inner = known[name]
    if (inner !== undefined) parts[name] = tolerant(inner)
  }
  if (known.options !== undefined) parts.options = known.options.map((option) => tolerant(option))
  if (Object.keys(parts).length === 0) return schema
  return z.clone(schema, { ...schema._zod.def, ...parts } as S['_zod']['def'])
}

/**
 * Returns the paths of all fields of the schema, at every depth. A path consists of names joined by dots, without list
 * indices, such as `document.rules.conditions`. Entries of a map have no path.
 */
export function fieldPaths(schema: z.ZodType): ReadonlySet<string> {
  const found = new Set<string>()
  collect(schema, '', found)
  return found
}

type Definition = {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly catchall?: z.ZodType
  readonly options?: readonly z.ZodType[]
  readonly innerType?: z.ZodType
  readonly element?: z.ZodType
  readonly valueType?: z.ZodType
}

/**
 * Members of a zod definition that contain an inner schema: that of a default or optional field, of the items of a
 * list, or of the values of a map.
 */
const INNER = ['innerType', 'element', 'valueType'] as const

function definition(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition
}

function definitionOf(schema: z.ZodType | undefined): Definition | undefined {
  return schema === undefined ? undefined : definition(schema)
}

function collect(schema: z.ZodType, prefix: string, found: Set<string>): void {
  const { shape = {}, options = [], innerType, element } = definition(schema)
  for (const [name, inner] of Object.entries(shape)) {
    found.add(prefix + name)
    collect(inner, `${prefix}${name}.`, found)
  }
  for (const inner of [...options, innerType, element]) {
    if (inner !== undefined) collect(inner, prefix, found)
  }
}
