import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { isNamed, repeatedName } from '../../request/headers/repeated-names.ts'
import type { BodyView } from '../connector.ts'
import { isRecord } from '../fields/fields.ts'
import type { Discriminator } from './discriminator.ts'
import type { CompiledRow } from './row-trie.ts'

/** Rows that may describe the request (empty if none), or a refusal if the gateway cannot determine them. */
type Choice = readonly CompiledRow[] | Refusal

/**
 * Selects among the rows of one path and method by query, then by body. Without a body, all remaining rows are
 * returned.
 */
export function chooseRows(
  rows: readonly CompiledRow[],
  request: CanonicalRequest,
  body: BodyView | undefined,
): Choice {
  const first = rows[0]?.row.when
  if (first === undefined) return rows
  if (isQueryKey(first)) return chooseByQuery(rows, request)
  for (const key of bodyKeys(rows)) {
    if (isNamed(key, request.query)) {
      return refusal('ambiguous_request', `"${key}" is in the query; move it to the body`)
    }
  }
  return body === undefined ? rows : chooseByBody(rows, body)
}

const known = new WeakMap<readonly CompiledRow[], readonly string[]>()

/** Returns the top-level body keys whose values distinguish these rows. */
export function bodyKeys(rows: readonly CompiledRow[]): readonly string[] {
  const found = known.get(rows)
  if (found !== undefined) return found
  const keys = readKeys(rows)
  known.set(rows, keys)
  return keys
}

function readKeys(rows: readonly CompiledRow[]): readonly string[] {
  const keys = new Set<string>()
  for (const { row } of rows) {
    if (row.when !== undefined && !isQueryKey(row.when)) keys.add(row.when.key)
  }
  return [...keys]
}

type QueryKey = Extract<Discriminator, { in: 'query' }>

function isQueryKey(when: Discriminator): when is QueryKey {
  return 'in' in when
}

function chooseByQuery(rows: readonly CompiledRow[], request: CanonicalRequest): Choice {
  const keys = rows.flatMap(({ row }) => (row.when === undefined ? [] : [row.when.key]))
  const repeated = repeatedName(keys, request.query)
  if (repeated !== null)
    return refusal(
      'ambiguous_request',
      `the query has "${repeated}" more than once, or beside a ";" that some servers read as "&"; send the parameter once, and send ";" as %3B`,
    )
  return rows.filter(
    ({ row }) => row.when !== undefined && isQueryKey(row.when) && hasPair(request, row.when),
  )
}

function hasPair({ query }: CanonicalRequest, when: QueryKey): boolean {
  return query.some(([name, value]) => name === when.key && value === when.equals)
}

function chooseByBody(rows: readonly CompiledRow[], body: BodyView): Choice {
  const members = membersOf(body)
  if (isRefusal(members)) return members
  const exact = rows.find(({ row }) => row.when !== undefined && holds(row.when, members.values))
  const chosen = exact ?? rows.find(({ row }) => row.when !== undefined && 'otherwise' in row.when)
  return chosen === undefined ? [] : [chosen]
}

type Members = { readonly values: Readonly<Record<string, unknown>> }

/**
 * Returns the members of a JSON body, wrapped in an object. Without the wrapper, a body with the members of a `Refusal`
 * would count as a refusal, and the agent chooses the members.
 */
function membersOf(body: BodyView): Members | Refusal {
  switch (body.kind) {
    case 'absent':
      return { values: {} }
    case 'json':
      return isRecord(body.value) ? { values: body.value } : notAnObject()
    case 'invalid':
      return refusal('malformed_request', body.detail)
    case 'form':
    case 'opaque':
    case 'head':
      return refusal(
        'unsupported_body',
        'the action of this request depends on its body; send the body as application/json',
      )
  }
}

/**
 * Returns the refusal of a JSON body that is not an object. Some servers ignore a list, some read its first item, and
 * some report an error.
 */
function notAnObject(): Refusal {
  return refusal(
    'malformed_request',
    'the action of this request depends on its body, which is JSON but not an object; send an object',
  )
}

function holds(when: Discriminator, values: Readonly<Record<string, unknown>>): boolean {
  const value = Object.hasOwn(values, when.key) ? values[when.key] : undefined
  if ('equals' in when) return value === when.equals
  return 'present' in when && typeof value === when.present
}
