import type { Parameters } from '../../action/action.ts'
import { excerpt } from '../../excerpt.ts'
import type { BodyView } from '../connector.ts'
import { isSecretField } from '../credentials/secret-names.ts'

/** Of all other fields together, in characters of JSON: what a person can be asked to look through. */
const MOST = 16_384
/** Of a long value, in characters; its length is said behind it. */
const BEGINNING = 500

export type Shown = {
  /** What is shown already. A field of the same name and another value is another field. */
  readonly parameters: Parameters
  /** Names that carry the agent's credential, or what `parameters` tells in its own words. */
  readonly leftOut: readonly string[]
}

/**
 * What a body holds besides, for the person who answers for all of it: the top-level fields of an object or a form, or the
 * whole of any other JSON as `body`. Long values are shown by their beginnings once they would not all fit, and what has
 * no room left is counted in `further_fields`. Null when there is nothing more, or nothing that has fields.
 */
export function otherFields(
  view: BodyView,
  { parameters, leftOut }: Shown,
): Readonly<Record<string, unknown>> | null {
  const hidden = fieldsOf(view)
    .filter(([name, value]) => !leftOut.includes(name) && !isShown(parameters, name, value))
    .map(([name, value]): Field => [name, withoutSecrets(name, value)])
  if (hidden.length === 0) return null
  const whole = Object.fromEntries(hidden)
  return JSON.stringify(whole).length <= MOST ? whole : beginnings(hidden)
}

/** No text below a name like `client_secret` is anybody's to read here. Numbers (`max_tokens`) are no secrets. */
function withoutSecrets(name: string, value: unknown, isWithin = false): unknown {
  const isSecret = isWithin || isSecretField(name)
  if (typeof value === 'string') return isSecret ? `(not shown: ${value.length} characters)` : value
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(name, one, isSecret))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutSecrets(key, one, isSecret)]),
  )
}

type Field = readonly [name: string, value: unknown]

function fieldsOf(view: BodyView): readonly Field[] {
  if (view.kind === 'form') return formFields(view.fields)
  if (view.kind !== 'json') return []
  const { value } = view
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value)
    : [['body', value]]
}

/** What is given twice is a list. */
function formFields(pairs: ReadonlyArray<readonly [string, string]>): readonly Field[] {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value])
  return [...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list])
}

/** A form spells numbers as text. */
function isShown(parameters: Parameters, name: string, value: unknown): boolean {
  if (!Object.hasOwn(parameters, name)) return false
  const known = parameters[name]
  return (
    JSON.stringify(known) === JSON.stringify(value) || (typeof known === 'number' && String(known) === value)
  )
}

function beginnings(fields: readonly Field[]): Readonly<Record<string, unknown>> {
  const kept: Field[] = []
  let left = MOST
  let further = 0
  for (const [name, value] of fields) {
    const said = excerpt(value, BEGINNING)
    left -= name.length + JSON.stringify(said).length
    if (left < 0) further += 1
    else kept.push([name, said])
  }
  return Object.fromEntries(further === 0 ? kept : [...kept, ['further_fields', further]])
}
