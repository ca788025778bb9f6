import type { Parameters } from '../../action/action.ts'
import { type Refusal, refusal } from '../../request/canonical.ts'
import { looseName, type Pairs, plainName, repeatedName } from '../../request/headers/repeated-names.ts'
import type { BodyView, Row } from '../connector.ts'

/** Names of fields with integer values. Forms and queries can only send these values as text. */
const NUMBERS = new Set(['amount', 'unit_amount', 'amount_to_capture', 'application_fee_amount', 'quantity'])

/**
 * Returns the body and query fields that a row declares, as parameters. A form field matches with and without brackets
 * (`items[0][price]` for `items`). A list that occurs twice, for example in the query and in the body, contains all
 * its values. Other fields occur once (see `judgeRepeated`).
 */
export function pickFields(
  names: readonly string[] | undefined,
  query: Pairs,
  body: BodyView | undefined,
): Parameters {
  if (names === undefined) return {}
  const fromQuery: Record<string, unknown> = {}
  const fromBody: Record<string, unknown> = {}
  if (query.length > 0) pickPairs(names, query, fromQuery)
  if (body?.kind === 'form') pickPairs(names, body.fields, fromBody)
  if (body?.kind === 'json') pickMembers(names, body.value, fromBody)
  for (const [name, value] of Object.entries(fromQuery)) {
    fromBody[name] = Object.hasOwn(fromBody, name) ? [value, fromBody[name]].flat() : value
  }
  return withMembers(fromBody)
}

/**
 * Refuses a request with a field of the row more than once in query and body together, unless the row declares a list.
 */
export function judgeRepeated(row: Row, query: Pairs, body: BodyView | undefined): Refusal | null {
  const lists = row.lists ?? []
  const names = row.parameters?.filter((name) => !lists.includes(name)) ?? []
  if (names.length === 0) return null
  const members = body?.kind === 'json' && isRecord(body.value) ? Object.keys(body.value) : []
  const fromBody: Pairs = body?.kind === 'form' ? body.fields : members.map((name) => [name, ''])
  // A JSON body alone needs no check, because the strict JSON parser refuses repeated members and other spellings.
  const pairs =
    query.some(([name]) => isOneOf(names, name)) || body?.kind === 'form' ? [...query, ...fromBody] : []
  const repeated = repeatedName(names, pairs)
  if (repeated === null) return null
  return refusal(
    'ambiguous_request',
    `"${repeated}" occurs more than once, and servers differ in which value they use; send the field once, in the query or in the body, and send ";" as %3B`,
  )
}

/**
 * Refuses a query or form field whose name only some servers treat as one of `names`. Such a name differs by
 * surrounding blanks, by letter case, by brackets (`[amount]`), or by a dot or blank (`thread.ts` for `thread_ts`). The
 * exact name is accepted. JSON members are compared with the names in `inJson` only.
 */
export function judgeSpelling(
  names: readonly string[],
  query: Pairs,
  body: BodyView | undefined,
  inJson: readonly string[] = [],
): Refusal | null {
  if (query.length === 0 && body?.kind !== 'form' && inJson.length === 0) return null
  const pairs = body?.kind === 'form' ? [...query, ...body.fields] : query
  const members = body?.kind === 'json' && isRecord(body.value) ? Object.keys(body.value) : []
  const sent = pairs.map(([name]) => name)
  const isRead = (name: string) =>
    names.includes(plainName(name)) && name.includes('[') === name.includes(']')
  return (
    judgeNames(names, sent, isRead) ?? judgeNames(inJson, members, (name: string) => inJson.includes(name))
  )
}

function judgeNames(
  names: readonly string[],
  sent: readonly string[],
  isRead: (name: string) => boolean,
): Refusal | null {
  if (sent.length === 0 || names.length === 0) return null
  const wanted = new Map(names.map((name) => [looseName(name), name]))
  for (const name of sent) {
    if (isRead(name)) continue
    const found = carelessNames(name).find((reading) => wanted.has(reading))
    if (found === undefined) continue
    return refusal(
      'ambiguous_request',
      `some servers read the field "${name.slice(0, 64)}" as "${wanted.get(found)}"; send exactly that name, or a clearly different name`,
    )
  }
  return null
}

/**
 * Returns the names for which lenient servers may take a field name. These servers drop surrounding brackets, and
 * replace blanks, dots and a lone bracket with `_`.
 */
function carelessNames(name: string): readonly string[] {
  const loose = looseName(name)
  const bare = looseName(loose.replace(/^[[\]]+/, '').replace(/[[\]].*$/s, ''))
  const lone = loose.includes(']') ? [] : [loose.replaceAll(/[ .[]/g, '_')]
  return [looseName(plainName(loose)), bare, looseName(plainName(loose)).replaceAll(/[ .]/g, '_'), ...lone]
}

function isOneOf(names: readonly string[], name: string): boolean {
  const loose = looseName(name)
  return names.some((one) => loose.startsWith(looseName(one)))
}

/**
 * Makes a field that occurs both plain and with brackets a list of both values, because some servers use the plain
 * field and others the field with brackets.
 */
function withMembers(fields: Record<string, unknown>): Parameters {
  for (const [name, value] of Object.entries(fields)) {
    const bracket = name.indexOf('[')
    const plain = bracket === -1 ? name : name.slice(0, bracket)
    if (plain !== name && Object.hasOwn(fields, plain)) fields[plain] = [fields[plain], value].flat()
  }
  return fields
}

function pickPairs(names: readonly string[], pairs: Pairs, into: Record<string, unknown>): void {
  const own = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const bracket = name.indexOf('[')
    if (!names.includes(bracket === -1 ? name : name.slice(0, bracket))) continue
    own.set(name, [...(own.get(name) ?? []), value])
  }
  for (const [name, values] of own) {
    const typed = values.map((value) => readValue(name, value))
    into[name] = typed.length === 1 ? typed[0] : typed
  }
}

function readValue(name: string, value: string): string | number {
  return NUMBERS.has(name) && /^(0|[1-9][0-9]{0,14})$/.test(value) ? Number(value) : value
}

function pickMembers(names: readonly string[], value: unknown, into: Record<string, unknown>): void {
  if (!isRecord(value)) return
  for (const name of names) {
    if (Object.hasOwn(value, name)) into[name] = value[name]
  }
}

/** Reports whether the value is a JSON object, as opposed to arrays, scalars and null. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
