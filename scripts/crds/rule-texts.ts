import type { ImmutableField, ListRule } from '../../core/crd/spec-rules.ts'
import type { Schema } from './structural.ts'

/** CEL validation rules and list types of a CRD. */
export type RuleTexts = {
  readonly cross: ReadonlyArray<{
    readonly cel: string
    readonly path: readonly string[]
    readonly message: string
  }>
  readonly lists: readonly ListRule[]
  readonly immutable?: readonly ImmutableField[]
}

/** Adds the CEL validation rules to the root of a schema, and list types to lists with unique elements. */
export function withRuleTexts(schema: Schema, { cross, lists, immutable = [] }: RuleTexts): Schema {
  const listed = lists.reduce((whole, { path, keys }) => changeAt(whole, path, listType(keys)), schema)
  const transitions = immutable.map(({ path, message }) => {
    const field = path.join('.')
    return { cel: `self.${field} == oldSelf.${field}`, path, message }
  })
  const rules = [...cross, ...transitions]
  if (rules.length === 0) return listed
  const validations = rules.map(({ cel, path, message }) => ({
    rule: cel,
    message,
    fieldPath: path.map((step) => `.${step}`).join(''),
  }))
  return { ...listed, 'x-kubernetes-validations': validations }
}

function listType(keys: readonly string[] | null): Schema {
  return keys === null
    ? { 'x-kubernetes-list-type': 'set' }
    : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
}

function changeAt(schema: Schema, path: readonly string[], added: Schema): Schema {
  const [step, ...rest] = path
  if (step === undefined) return { ...schema, ...added }
  const properties = schema['properties'] as Readonly<Record<string, Schema>> | undefined
  const inner = properties?.[step]
  if (properties === undefined || inner === undefined)
    throw new Error(`The schema has no field ${path.join('.')}.`)
  return { ...schema, properties: { ...properties, [step]: changeAt(inner, rest, added) } }
}
