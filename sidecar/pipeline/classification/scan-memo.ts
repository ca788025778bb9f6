import { classify, scannedMembers } from '../../../core/connectors/classify.ts'
import type { BodyView, Classification } from '../../../core/connectors/connector.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import type { FoundMembers } from '../../../core/request/json/member-finder.ts'

type JsonView = Extract<BodyView, { readonly kind: 'json' }>

/**
 * Maximum size, in characters and values, of the scanned members that are cached for one body. Each connection has one
 * cache.
 */
const MAX_SIZE = 8 * 1024

/**
 * Cache of results about scanned bodies, for requests with equal heads. Agents send the same model and tools with each
 * request; only the conversation differs, and the scan does not keep it. In the benchmark B1 the cache lowers the
 * allocations of a request from 23.4 to 19.5 KB.
 */
export class ScanMemo {
  #bound: BoundConnector | null = null
  #members: readonly string[] | null = null
  #view: JsonView | null = null
  #named: Classification | null = null

  /** Returns the result of `scannedMembers` for the request. All requests of one cache must have the same head. */
  members(bound: BoundConnector, request: CanonicalRequest): readonly string[] | null {
    this.#use(bound, request)
    return this.#members
  }

  /**
   * Returns the classification of the request. Returns the last classification again when the scan found the same
   * members and values.
   */
  classify(bound: BoundConnector, request: CanonicalRequest, view: JsonView): Classification {
    this.#use(bound, request)
    if (this.#named !== null && this.#view !== null && isSameView(this.#view, view)) return this.#named
    const named = classify(bound, request, view)
    const isKept = !isRefusal(named) && sizeOf(view.value) + sizeOfFound(view.found ?? NONE) <= MAX_SIZE
    this.#view = isKept ? view : null
    this.#named = isKept ? named : null
    return named
  }

  #use(bound: BoundConnector, request: CanonicalRequest): void {
    if (this.#bound === bound) return
    this.#bound = bound
    this.#members = scannedMembers(bound, request)
    this.#view = null
    this.#named = null
  }
}

const NONE: readonly FoundMembers[] = []

function isSameView(a: JsonView, b: JsonView): boolean {
  return isSameValue(a.value, b.value) && isSameList(a.found ?? NONE, b.found ?? NONE, isSameFound)
}

function isSameFound(a: FoundMembers, b: FoundMembers): boolean {
  return (
    isSameList(a.place, b.place, Object.is) && isSameList(a.names, b.names, Object.is) && isSameMembers(a, b)
  )
}

function isSameMembers({ members: a }: FoundMembers, { members: b }: FoundMembers): boolean {
  if (a.size !== b.size) return false
  for (const [name, value] of a) if (!b.has(name) || !isSameValue(value, b.get(name))) return false
  return true
}

/** Compares two JSON values. Objects whose members are in a different order count as different. */
function isSameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b)) return false
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && isSameList(a, b, isSameValue)
  const names = Object.keys(a)
  if (!isSameList(names, Object.keys(b), Object.is)) return false
  for (const name of names) if (!isSameValue(a[name], b[name])) return false
  return true
}

function isSameList<T>(a: readonly T[], b: readonly T[], isSame: (a: T, b: T) => boolean): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (!isSame(a[at] as T, b[at] as T)) return false
  return true
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!isObject(value)) return 1
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + sizeOf(each), 1)
}

function sizeOfFound(found: readonly FoundMembers[]): number {
  return found.reduce(
    (sum, { place, names, members }) => sum + sizeOf(place) + sizeOf(names) + sizeOf([...members]),
    0,
  )
}
