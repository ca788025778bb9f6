import { textBeginning } from '../body/text-beginning.ts'
import { parseValue } from './json-lexer.ts'

/** Rules for members that a scan finds at any depth. */
export type FindRules = {
  /**
   * Path suffixes of the members to find, such as `server_url`, `source.url` and `tools.*.type`. `*` stands for the
   * elements of a list, `?` in `tools.*.?` for the names of all members there, `?` elsewhere for any key
   * (`graders.?.type`), and `^` for the root (`^.agent`).
   */
  readonly ends: readonly string[]
  /** Names of members that contain arbitrary JSON of the caller. The scan does not search their values. */
  readonly opaque: readonly string[]
  /**
   * Names of members that contain arbitrary JSON of the caller if their value is an object. The scan does not search
   * these objects, but it searches a list.
   */
  readonly opaqueObjects?: readonly string[] | undefined
  /**
   * Names of members that contain objects with keys of the caller's choice. No name below them is opaque, because the
   * caller could hide a value under an opaque name.
   */
  readonly callerKeys?: readonly string[] | undefined
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
  readonly callerKeys: ReadonlySet<string>
}
type Growing = { place: readonly string[]; members: Map<string, unknown>; names: string[] }
/**
 * Open object or list. `isNamed` is true if a rule requests the names of all its members, `isSearched` if no name
 * below it is opaque.
 */
type Level = {
  readonly parent: Level | null
  isObject: boolean
  isOpaque: boolean
  isSearched: boolean
  isNamed: boolean
  /** Key of the current member; `*` in a list. */
  key: string
  found: Growing | null
}

const NO_BYTES = new Uint8Array(0)
const NO_RULES: Compiled = {
  byName: new Map(),
  named: [],
  opaque: new Set(),
  opaqueObjects: new Set(),
  callerKeys: new Set(),
}

/** Follows a scan through a JSON text, and collects the members that match the rules. */
export class MemberFinder {
  found: FoundMembers[] = []
  /** Levels by depth, of which the first `#depth` are open. */
  readonly #levels: Level[] = []
  #rules: Compiled = NO_RULES
  #bytes: Uint8Array = NO_BYTES
  #depth = 0
  #level: Level | null = null
  #isWanted = false
  #memberCount = 0

  begin(bytes: Uint8Array, rules: FindRules | null): void {
    this.found = []
    for (const level of this.#levels) level.found = null
    this.#rules = rules === null ? NO_RULES : compiled(rules)
    this.#bytes = bytes
    this.#depth = 0
    this.#level = null
    this.#isWanted = false
    this.#memberCount = 0
  }

  /** False once the rules have found more than `FIND_BOUNDS` allows. */
  get isWithinBounds(): boolean {
    return this.found.length <= FIND_BOUNDS.objects && this.#memberCount <= FIND_BOUNDS.members
  }

  open(isObject: boolean): void {
    const parent = this.#level
    if (this.#isWanted && parent !== null) this.#note(parent, CONTAINER)
    const isOpaque = parent !== null && (parent.isOpaque || this.#isOpaque(parent, isObject))
    const isSearched = parent !== null && (parent.isSearched || this.#rules.callerKeys.has(parent.key))
    const isNamed = isObject && !isOpaque && this.#isNamed(parent)
    this.#level = this.#push(parent, { isObject, isOpaque, isSearched, isNamed })
    this.#isWanted = !isObject && this.#isWantedIn(this.#level)
  }

  #push(
    parent: Level | null,
    { isObject, isOpaque, isSearched, isNamed }: Omit<Level, 'parent' | 'key' | 'found'>,
  ): Level {
    const known = this.#levels[this.#depth]
    const level = known ?? { parent, isObject, isOpaque, isSearched, isNamed, key: '*', found: null }
    if (known === undefined) this.#levels.push(level)
    level.isObject = isObject
    level.isOpaque = isOpaque
    level.isSearched = isSearched
    level.isNamed = isNamed
    level.key = '*'
    level.found = null
    this.#depth += 1
    return level
  }

  close(): void {
    this.#depth -= 1
    this.#level = this.#level?.parent ?? null
    this.#isWanted = this.#level?.isObject === false && this.#isWantedIn(this.#level)
  }

  key(key: string): void {
    const level = this.#level
    if (level === null) return
    level.key = key
    if (level.isNamed) {
      this.#noteIn(level).names.push(key.slice(0, FIND_BOUNDS.textBytes))
      this.#memberCount += 1
    }
    this.#isWanted = this.#isWantedIn(level)
  }

  scalar(start: number, end: number): void {
    const level = this.#level
    if (!this.#isWanted || level === null) return
    this.#note(level, this.#read(start, end))
  }

  #note(level: Level, value: unknown): void {
    const { key, isObject } = level
    const { members } = this.#noteIn(level)
    this.#memberCount += 1
    if (isObject) members.set(key, value)
    else appendTo(members, key, value)
  }

  #noteIn(level: Level): Growing {
    if (level.found !== null) return level.found
    level.found = { place: placeOf(level), members: new Map(), names: [] }
    this.found.push(level.found)
    return level.found
  }

  #read(start: number, end: number): unknown {
    if (end - start > FIND_BOUNDS.textBytes)
      return textBeginning(this.#bytes, { start, end }, FIND_BOUNDS.textBytes)
    return parseValue(this.#bytes, start, end)
  }

  #isOpaque({ key, isSearched }: Level, isObject: boolean): boolean {
    if (isSearched) return false
    return this.#rules.opaque.has(key) || (isObject && this.#rules.opaqueObjects.has(key))
  }

  #isNamed(level: Level | null): boolean {
    const { named } = this.#rules
    if (named.length === 0) return false
    return named.some((end) => endsWith(level, end))
  }

  /** Reports whether a rule selects the current member of this level. */
  #isWantedIn({ isOpaque, key, parent }: Level): boolean {
    const ends = isOpaque ? undefined : this.#rules.byName.get(key)
    if (ends === undefined) return false
    for (const end of ends) if (endsWith(parent, end)) return true
    return false
  }
}

/** Returns the keys from the root to the object or list. Long keys are truncated. */
function placeOf({ parent }: Level): readonly string[] {
  const place: string[] = []
  for (let level = parent; level !== null; level = level.parent) place.push(level.key.slice(0, 64))
  return place.reverse()
}

/**
 * Reports whether the keys from the root to `from` end with the parent keys of the rule. A rule that begins at the root
 * must match all of these keys.
 */
function endsWith(from: Level | null, { parents, isRooted }: End): boolean {
  let level = from
  for (let at = parents.length - 1; at >= 0; at--) {
    if (level === null || (parents[at] !== ANY_KEY && level.key !== parents[at])) return false
    level = level.parent
  }
  return !isRooted || level === null
}

const ALL_NAMES = '?'
/** Stands for any key among the parents of a member. */
export const ANY_KEY = '?'
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
  const callerKeys = new Set(rules.callerKeys)
  const all = { byName, named, opaque: new Set(rules.opaque), opaqueObjects, callerKeys }
  made.set(rules, all)
  return all
}

/** Appends a value to the list under this key. Creates the list if it is missing. */
function appendTo(members: Map<string, unknown>, key: string, value: unknown): void {
  const list = members.get(key)
  if (Array.isArray(list)) list.push(value)
  else members.set(key, [value])
}
