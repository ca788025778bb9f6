import type { GivenAt } from './handle.ts'

/** Text tables of the places where requests and responses of one provider contain handles (ids of its resources). */
export type HandleTable = {
  readonly connector: string
  /**
   * One line per path segment: the segment, the kind of the id in the next segment, and excluded words, each with `!`
   * (`!compact`). A next segment that equals an excluded word belongs to another operation and is no id.
   */
  readonly paths: string
  /**
   * One line per JSON member of a request: end of the member's path (see `FindRules`), kind of the id in the member.
   */
  readonly fields: string
  /**
   * One line per operation that creates an id: its name without the connector prefix, kind of the id, path of the
   * member in the response (`header:NAME`: the end of a header field). A condition may follow. `if=END`: later requests
   * can use the id only if this request has a member whose path ends with `END`. `with=A|B`: the response has the id
   * only if the request has one of these further actions.
   */
  readonly gives: string
  /** True if ids are resource names (`files/abc`): alone, in a path, or at the end of a URL. */
  readonly hasResourceNames?: boolean
  /**
   * Matches the last two path segments of calls whose messages the gateway does not read, although they may name ids.
   */
  readonly unreadCalls?: RegExp
  /** Operations with `bodies: 'opaque'` (see `Row.bodies`) that accept ids in fields of a multipart form. */
  readonly readForms?: readonly string[]
}

/** Place of a JSON member of a request. `name`: last key of its path; `parents`: the keys before it. */
export type Place = { readonly parents: readonly string[]; readonly name: string }

/**
 * A place of a new id in a response. `needs`: member that the request must have. `oneOf`: actions of which the request
 * must have one. Null: no condition.
 */
export type Giving = {
  readonly at: GivenAt
  readonly needs: Place | null
  readonly oneOf: readonly string[] | null
}

export type CompiledHandles = {
  readonly paths: ReadonlyMap<string, { readonly kind: string; readonly words: ReadonlySet<string> }>
  readonly fields: ReadonlyArray<Place & { readonly kind: string }>
  readonly gives: ReadonlyMap<string, readonly Giving[]>
  /** Ends of member paths that the scan of a request body searches for. */
  readonly ends: readonly string[]
  readonly hasResourceNames: boolean
  readonly unreadCalls: RegExp | undefined
  /** Types of the actions in `HandleTable.readForms`. */
  readonly readForms: readonly string[]
}

export function compileHandles(table: HandleTable): CompiledHandles {
  const paths = linesOf(table.paths).map(([segment = '', kind = '', ...words]) => {
    const literals = words.map((word) => word.replace(/^!/, ''))
    return [segment, { kind, words: new Set(literals) }] as const
  })
  const fields = linesOf(table.fields)
  const gives = linesOf(table.gives).map(([name = '', kind = '', place = '', condition = '']) => ({
    type: `${table.connector}.${name}`,
    given: { at: givenAt(kind, place), ...conditionOf(condition, table.connector) },
  }))
  return {
    paths: new Map(paths),
    fields: fields.map(([end = '', kind = '']) => ({ ...placeOf(end), kind })),
    gives: new Map(
      [...Map.groupBy(gives, ({ type }) => type)].map(([type, all]) => [type, all.map(({ given }) => given)]),
    ),
    ends: [
      ...fields.map(([end = '']) => end),
      ...gives.flatMap(({ given: { needs } }) =>
        needs === null ? [] : [[...needs.parents, needs.name].join('.')],
      ),
    ],
    hasResourceNames: table.hasResourceNames === true,
    unreadCalls: table.unreadCalls,
    readForms: (table.readForms ?? []).map((name) => `${table.connector}.${name}`),
  }
}

function placeOf(end: string): Place {
  const keys = end.split('.')
  return { parents: keys.slice(0, -1), name: keys.at(-1) ?? '' }
}

const HEADER = 'header:'

function givenAt(kind: string, place: string): GivenAt {
  return place.startsWith(HEADER)
    ? { kind, header: place.slice(HEADER.length) }
    : { kind, path: place.split('.') }
}

function conditionOf(text: string, connector: string): Pick<Giving, 'needs' | 'oneOf'> {
  const [name, value = ''] = text.split('=')
  if (name === 'if') return { needs: placeOf(value), oneOf: null }
  if (name === 'with')
    return { needs: null, oneOf: value.split('|').map((action) => `${connector}.${action}`) }
  if (text !== '') throw new Error(`handles: no condition "${text}"`)
  return { needs: null, oneOf: null }
}

function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s+/))
}
