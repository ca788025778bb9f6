import type { Parameters } from '../../action/action.ts'
import { excerpt } from '../../excerpt.ts'
import type { BodyView } from '../connector.ts'
import { fieldOf } from '../credentials/field-name.ts'
import { isSecretField } from '../credentials/secret-names.ts'

/** Maximum total size of the further fields on a card, in characters of JSON. An approver can review this amount. */
const MOST = 16_384
/** Number of characters of a long value that the card shows. The total length of the value follows them. */
const BEGINNING = 500

export type Shown = {
  /** Parameters that the card already shows. A field of the same name with another value is shown in addition. */
  readonly parameters: Parameters
  /** Names of fields that carry the agent's credential, in lower case. */
  readonly leftOut: readonly string[]
}

/**
 * Returns the content of a body that the approval card does not show yet: the top-level fields of an object or a form,
 * or any other JSON value under the name `body`. Long values are shortened if the content is too long;
 * `further_fields` counts the fields that do not fit. Null if there is nothing to show, or the body has no fields.
 */
export function otherFields(
  view: BodyView,
  { parameters, leftOut }: Shown,
): Readonly<Record<string, unknown>> | null {
  const hidden = fieldsOf(view)
    .filter(([name, value]) => !leftOut.includes(fieldOf(name)) && !isShown(parameters, name, value))
    .map(([name, value]): Field => [name, withoutSecrets(name, value)])
  if (hidden.length === 0) return null
  const whole = Object.fromEntries(hidden)
  return JSON.stringify(whole).length <= MOST ? whole : beginnings(hidden)
}

/**
 * Reports whether the further fields of a card are complete, so that equal fields on two cards mean equal fields of the
 * requests. They are incomplete if `beginnings` shortened values or omitted fields, or if `withoutSecrets` replaced
 * values.
 */
export function areWhole(fields: unknown): boolean {
  if (typeof fields === 'string') return !REPLACED.test(fields)
  if (typeof fields !== 'object' || fields === null) return true
  return Object.entries(fields).every(([name, value]) => name !== FURTHER && areWhole(value))
}

const FURTHER = 'further_fields'
/** Matches the text with which `withoutSecrets` and `excerpt` replace a value. */
const REPLACED = /(?:^\(not shown: |… \()\d+ characters\)$/

/** Replaces text below names such as `client_secret` with its length. Numbers (`max_tokens`) are not secrets. */
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

/** Returns the fields of a form; the values of a repeated field form a list. */
function formFields(pairs: ReadonlyArray<readonly [string, string]>): readonly Field[] {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs) values.set(name, [...(values.get(name) ?? []), value])
  return [...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list])
}

/**
 * Reports whether the parameters already contain this value. A number equals its text, because forms carry numbers as
 * text.
 */
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
  return Object.fromEntries(further === 0 ? kept : [...kept, [FURTHER, further]])
}
