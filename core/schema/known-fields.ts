import type * as z from 'zod'

type Step = string | number

/** Returns the field names of the schema at `path`; empty if the schema accepts any name. */
export function knownFields(schema: z.core.$ZodType, path: readonly Step[]): readonly string[] {
  const [step, ...rest] = path
  const inner = innermost(schema)
  if (step !== undefined) return innerAt(inner, step).flatMap((next) => knownFields(next, rest))
  return alternatives(inner).flatMap((each) => Object.keys(shapeOf(each)))
}

type Definition = {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>
  readonly innerType?: z.core.$ZodType
  readonly in?: z.core.$ZodType
  readonly element?: z.core.$ZodType
  readonly valueType?: z.core.$ZodType
  readonly options?: readonly z.core.$ZodType[]
}

function definition(schema: z.core.$ZodType): Definition {
  return schema._zod.def as unknown as Definition
}

/** Unwraps a schema from defaults, optional wrappers and conversions. */
function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType, in: input } = definition(schema)
  const next = innerType ?? input
  return next === undefined ? schema : innermost(next)
}

function alternatives(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  return (definition(schema).options ?? [schema]).map(innermost)
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  return definition(schema).shape ?? {}
}

function innerAt(schema: z.core.$ZodType, step: Step): readonly z.core.$ZodType[] {
  return alternatives(schema).flatMap((each) => {
    const { element, valueType } = definition(each)
    const next = typeof step === 'number' ? element : (shapeOf(each)[step] ?? valueType)
    return next === undefined ? [] : [next]
  })
}
