import type { Action } from '../../action/action.ts'
import { type CanonicalRequest, type Refusal, refusal } from '../../request/canonical.ts'
import type { FoundMembers } from '../../request/json/member-finder.ts'
import { type GivenAt, type Handle, type HandleReader, MAX_HANDLES } from './handle.ts'
import type { CompiledHandles, Place } from './table.ts'

/** Returns a handle reader for the handle table of one provider. */
export function tableHandles(table: CompiledHandles): HandleReader {
  return {
    named: (request, found) => namedHandles(table, request, found),
    inMembers: (found) => inMembers(table, found),
    isUnread: ({ segments }) => table.unreadCalls?.test(segments.slice(-2).join('/')) === true,
    given: (actions, found) => givenPlaces(table, actions, found),
    read: (_kind, text) => idOf(table, table.hasResourceNames ? text : lastSegment(text)),
  }
}

function namedHandles(
  table: CompiledHandles,
  request: CanonicalRequest,
  found: readonly FoundMembers[],
): readonly Handle[] | Refusal {
  const handles: Handle[] = []
  for (const handle of inPath(table, request.segments)) handles.push(handle)
  for (const one of found) for (const handle of inMembers(table, one)) handles.push(handle)
  return handles.length === 0 ? NONE : distinctHandles(handles)
}

/** Returns each handle once. Returns a refusal if there are more than `max` handles. */
export function distinctHandles(
  all: readonly Handle[],
  max: number = MAX_HANDLES,
): readonly Handle[] | Refusal {
  const distinct = new Map(all.map((handle) => [`${handle.kind} ${handle.id}`, handle]))
  if (distinct.size <= max) return [...distinct.values()]
  return refusal(
    'body_too_large',
    `the request references ${distinct.size} files, responses or other resources of the provider; reference at most ${max} in one request`,
  )
}

function inPath(table: CompiledHandles, segments: readonly string[]): readonly Handle[] {
  let handles = NONE
  for (let at = 0; at + 1 < segments.length; at++) {
    const row = table.paths.get(segments[at] ?? '')
    const next = segments[at + 1] ?? ''
    if (row === undefined || next === '' || row.words.has(next)) continue
    handles = [...handles, ...handleOf(table, row.kind, next)]
  }
  return handles
}

function inMembers(table: CompiledHandles, { place, members }: FoundMembers): readonly Handle[] {
  let handles = NONE
  for (const { parents, name, kind } of table.fields) {
    const value = members.get(name)
    if (value === undefined || !endsWith(place, parents)) continue
    const texts = (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string')
    handles = [...handles, ...texts.flatMap((text) => handleOf(table, kind, text))]
  }
  return handles
}

const NONE: readonly Handle[] = []

function endsWith(place: readonly string[], end: readonly string[]): boolean {
  const from = place.length - end.length
  for (let at = 0; at < end.length; at++) if (place[from + at] !== end[at]) return false
  return from >= 0
}

function handleOf(table: CompiledHandles, kind: string, text: string): readonly Handle[] {
  const id = idOf(table, text)
  return id === null ? [] : [{ kind, id }]
}

/**
 * Returns the id in a resource name: its last segment without a custom verb, such as `abc` in `files/abc:download`.
 * Null if the table does not list the collection (`files`). For a provider without resource names, the text is the id.
 */
function idOf({ hasResourceNames, paths }: CompiledHandles, text: string): string | null {
  if (!hasResourceNames) return text === '' ? null : text
  const segments = text.split('/')
  const [id = ''] = (segments.at(-1) ?? '').split(/[:?#]/)
  const collection = segments.at(-2)
  const isNamed = collection === undefined || paths.has(collection)
  return isNamed && id !== '' ? id : null
}

/** Returns the id at the end of an address, such as `rtc_1` in `/v1/realtime/calls/rtc_1`. Other ids have no slash. */
function lastSegment(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1)
}

function givenPlaces(
  { gives }: CompiledHandles,
  actions: readonly Action[],
  found: readonly FoundMembers[],
): readonly GivenAt[] {
  let given = NO_PLACES
  for (const { type } of actions) {
    for (const { at, needs, oneOf } of gives.get(type) ?? NO_PLACES_OF_TYPE) {
      const isGiven =
        (needs === null || found.some((one) => hasMember(one, needs))) &&
        (oneOf === null || actions.some((other) => oneOf.includes(other.type)))
      if (isGiven) given = [...given, at]
    }
  }
  return given
}

function hasMember({ place, members }: FoundMembers, { parents, name }: Place): boolean {
  return members.has(name) && endsWith(place, parents)
}

const NO_PLACES_OF_TYPE: readonly never[] = []

const NO_PLACES: readonly GivenAt[] = []
