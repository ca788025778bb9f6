import { textBeginning } from '../body/text-beginning.ts'
import { parseValue } from './json-lexer.ts'

/** Rules for members that a scan finds at any depth. */
export type FindRules = {
  /**
   * Path suffixes of the members to find, such as `server_url`, `source.url` and `tools.*.type`. `*` stands for the
   * elements of a list, `?` in `tools.*.?` for the names of all members there, and `^` for the root (`^.agent`).
   */
  readonly ends: readonly string[]
  /** Names of members that contain arbitrary JSON of the caller. The scan does not search their values. */
  readonly opaque: readonly string[]
  /**
   * Names of members that contain arbitrary JSON of the caller if their value is an object. The scan does not search
   * these objects, but it searches a list.
   */
  readonly opaqueObjects?: readonly string[] | undefined
}

/** Found members of one object, or found elements of one list. */
export type FoundMembers = {
  /** Keys from the root to the object; `*` stands for an element of a list. */
  readonly place: readonly string[]
  /**
   * Values of the found members by name. Long texts are truncated, and `CONTAINER` stands for an object or a list. All
   * found elements of a list are one array under the name `*`.
   */
  readonly members: ReadonlyMap<string, unknown>
  /** Names of all members of the object if a rule with `?` requests them; otherwise empty. */
  readonly names: readonly string[]
}

export const FIND_BOUNDS = {
  /** Maximum length of a found text in bytes: enough for the scheme and the host of a URL. */
  textBytes: 512,
  /** Maximum number of objects with found members. */
  objects: 4_096,
  /** Maximum number of found members and elements. */
  members: 16_384,
} as const

/** Placeholder for a value that is an object or a list. */
export const CONTAINER: unknown = Object.freeze({})

type End = { readonly parents: readonly string[]; readonly isRooted: boolean }
type Compiled = {
  readonly byName: ReadonlyMap<string, readonly End[]>
  readonly named: readonly End[]
  readonly opaque: ReadonlySet<string>
  readonly opaqueObjects: ReadonlySet<string>
}
type Growing = { place: readonly string[]; members: Map<string, unknown>; names: string[] }
/** Open object or list. `isNamed` is true if a rule requests the names of all its members. */
type Level = {
  readonly isObject: boolean
  readonly isOpaque: boolean
  readonly isNamed: boolean
  found: Growing | null
}

/** Follows a scan through a JSON text, and records the members that match the rules. */
export class MemberFinder {
  readonly found: FoundMembers[] = []
  readonly #rules: Compiled
  readonly #bytes: Uint8Array
  readonly #levels: Level[] = []
  /** Keys of the open objects and lists, then the key of the current member. */
  readonly #keys: string[] = []
  #isWanted = false
  #memberCount = 0

  constructor(bytes: Uint8Array, rules: FindRules) {
    this.#bytes = bytes
    this.#rules = compiled(rules)
  }

  /** False once the rules have found more than `FIND_BOUNDS` allows. */
  get isWithinBounds(): boolean {
    return this.found.length <= FIND_BOUNDS.objects && this.#memberCount <= FIND_BOUNDS.members
  }

  open(isObject: boolean): void {
    const parent = this.#levels.at(-1)
    const key = this.#keys.at(-1)
    if (this.#isWanted && parent !== undefined) this.#note(parent, CONTAINER)
    const isOpaque =
      parent !== undefined && (parent.isOpaque || (key !== undefined && this.#isOpaque(key, isObject)))
    const isNamed = isObject && !isOpaque && this.#rules.named.some((end) => this.#endsWith(end))
    this.#levels.push({ isObject, isOpaque, isNamed, found: null })
    this.#keys.push('*')
    this.#isWanted = !isObject && !isOpaque && this.#matches('*')
  }

  close(): void {
    this.#levels.pop()
    this.#keys.pop()
    const level = this.#levels.at(-1)
    this.#isWanted = level?.isObject === false && !level.isOpaque && this.#matches('*')
  }

  key(key: string): void {
    const level = this.#levels.at(-1)
    if (level === undefined) return
    this.#keys[this.#keys.length - 1] = key
    if (level.isNamed) {
      this.#noteIn(level).names.push(key.slice(0, FIND_BOUNDS.textBytes))
      this.#memberCount += 1
    }
    this.#isWanted = !level.isOpaque && this.#matches(key)
  }

  scalar(start: number, end: number): void {
    const level = this.#levels.at(-1)
    if (!this.#isWanted || level === undefined) return
    this.#note(level, this.#read(start, end))
  }

  #note(level: Level, value: unknown): void {
    const name = this.#keys.at(-1) ?? ''
    const { members } = this.#noteIn(level)
    this.#memberCount += 1
    if (level.isObject) members.set(name, value)
    else members.set(name, [...listOf(members.get(name)), value])
  }

  #noteIn(level: Level): Growing {
    if (level.found !== null) return level.found
    const place = this.#keys.slice(0, -1).map((key) => key.slice(0, 64))
    level.found = { place, members: new Map(), names: [] }
    this.found.push(level.found)
    return level.found
  }

  #read(start: number, end: number): unknown {
    if (end - start > FIND_BOUNDS.textBytes)
      return textBeginning(this.#bytes, { start, end }, FIND_BOUNDS.textBytes)
    return parseValue(this.#bytes, start, end)
  }

  #isOpaque(key: string, isObject: boolean): boolean {
    return this.#rules.opaque.has(key) || (isObject && this.#rules.opaqueObjects.has(key))
  }

  #matches(name: string): boolean {
    const ends = this.#rules.byName.get(name)
    return ends?.some((end) => this.#endsWith(end, 1)) === true
  }

  /** Reports whether the current keys, without the last `skipped` ones, end with the parents of the rule. */
  #endsWith({ parents, isRooted }: End, skipped = 0): boolean {
    const from = this.#keys.length - skipped - parents.length
    return (
      (isRooted ? from === 0 : from >= 0) && parents.every((parent, at) => this.#keys[from + at] === parent)
    )
  }
}

const ALL_NAMES = '?'
const made = new WeakMap<FindRules, Compiled>()

function compiled(rules: FindRules): Compiled {
  const known = made.get(rules)
  if (known !== undefined) return known
  const byName = new Map<string, End[]>()
  const named: End[] = []
  for (const end of rules.ends) {
    const isRooted = end.startsWith('^.')
    const keys = (isRooted ? end.slice(2) : end).split('.')
    const name = keys.at(-1) ?? ''
    const place = { parents: keys.slice(0, -1), isRooted }
    if (name === ALL_NAMES) named.push(place)
    else byName.set(name, [...(byName.get(name) ?? []), place])
  }
  const opaqueObjects = new Set(rules.opaqueObjects)
  const all = { byName, named, opaque: new Set(rules.opaque), opaqueObjects }
  made.set(rules, all)
  return all
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
