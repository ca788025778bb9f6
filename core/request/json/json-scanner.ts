import type { Refusal } from '../canonical.ts'
import { MAX_JSON_COMMAS, MAX_JSON_DEPTH, MAX_JSON_NODES, SCAN_BOUNDS } from './json-bounds.ts'
import { JsonLexer, parseValue, TOKEN, type Token } from './json-lexer.ts'
import {
  byteOrderMark,
  couldBe,
  notJson,
  nulInKey,
  tooDeep,
  tooManyFound,
  tooManyKeys,
  tooMuchKept,
  trailingData,
  twice,
} from './json-problems.ts'
import { type FindRules, type FoundMembers, MemberFinder } from './member-finder.ts'
import { foldsTo, type MemberPaths, memberPaths } from './member-paths.ts'
import { type Frame, openFrame, put } from './scan-frame.ts'
import { addKey } from './strict-json.ts'

export type ScanRequest = {
  /**
   * Members to keep, as paths from the root, such as `model` or `requests.*.model`. `*` stands for the elements of a
   * list. The scan refuses a text with another key that becomes one of these keys by folding (see `fold`) at the same
   * position.
   */
  readonly keep: readonly string[]
  /** Rules for members that the scan finds at any depth. */
  readonly find?: FindRules | undefined
}

/** Member of the root object, with the byte range of its value. */
export type RootMember = { readonly key: string; readonly start: number; readonly end: number }

export type ScannedJson = {
  readonly kind: 'scanned'
  /**
   * Root object, reduced to the kept members and the objects and lists that contain them. Lists omit elements without
   * kept members. Empty list if the root is a scalar, or a list without kept members.
   */
  readonly value: unknown
  /** The first `SCAN_BOUNDS.members` members of the root. */
  readonly members: readonly RootMember[]
  /** Number of members of the root. */
  readonly memberCount: number
  /** Members that the rules of `find` select, in text order; empty if there are no rules. */
  readonly found: readonly FoundMembers[]
}

/** State of a kept value whose end has not been read yet. */
type Keeping = { readonly start: number; readonly depth: number; nodes: number; commas: number }

/** Kinds of tokens that may follow, as a set of bits. `END` is the end of the innermost object or list. */
const NOTHING = 0
const VALUE = 1
const KEY = 2
const COLON = 4
const COMMA = 8
const END = 16

const NO_BYTES = new Uint8Array(0)
/** Value of a text whose root is missing, a scalar, or a list without kept members. */
const NO_ROOT: unknown = []

/** Scans a JSON text once, in parts. `begin` reuses the objects of the scanner for the next text. */
export class JsonScanner {
  readonly #lexer = new JsonLexer()
  readonly #memberFinder = new MemberFinder()
  /** Frames by depth, of which the first `#depth` are open. */
  readonly #frames: Frame[] = []
  /** Innermost open object or list. */
  #frame: Frame | null = null
  #bytes: Uint8Array = NO_BYTES
  #finder: MemberFinder | null = null
  #rootPaths: MemberPaths | null = null
  #depth = 0
  #members: RootMember[] = []
  #memberCount = 0
  #memberStart = 0
  #root: unknown = NO_ROOT
  #expected = VALUE
  #keeping: Keeping | null = null
  #keptBytes = 0
  #openKeys = 0
  #openKeyChars = 0

  begin(bytes: Uint8Array, { keep, find }: ScanRequest): void {
    this.#bytes = bytes
    this.#lexer.begin(bytes)
    this.#memberFinder.begin(bytes, find ?? null)
    this.#finder = find === undefined ? null : this.#memberFinder
    this.#rootPaths = memberPaths(keep)
    for (const frame of this.#frames) frame.kept = null
    this.#frame = null
    this.#depth = 0
    this.#members = []
    this.#memberCount = 0
    this.#memberStart = 0
    this.#root = NO_ROOT
    this.#expected = VALUE
    this.#keeping = null
    this.#keptBytes = 0
    this.#openKeys = 0
    this.#openKeyChars = 0
  }

  readTo(end: number): Refusal | null {
    if (this.#lexer.startsWithBom) return byteOrderMark()
    for (let token = this.#lexer.next(end); token !== TOKEN.more; token = this.#lexer.next(end)) {
      const wrong = this.#take(token)
      if (wrong !== null) return wrong
    }
    return null
  }

  finish(): ScannedJson | Refusal {
    if (this.#expected !== NOTHING) return notJson()
    return {
      kind: 'scanned',
      value: this.#root,
      members: this.#members,
      memberCount: this.#memberCount,
      found: this.#finder?.found ?? [],
    }
  }

  #take(token: Token): Refusal | null {
    if (this.#expected === NOTHING) return trailingData()
    switch (token) {
      case TOKEN.openObject:
        return this.#open(true)
      case TOKEN.openList:
        return this.#open(false)
      case TOKEN.closeObject:
        return this.#close(true)
      case TOKEN.closeList:
        return this.#close(false)
      case TOKEN.comma:
        return this.#comma()
      case TOKEN.colon:
        return this.#colon()
      case TOKEN.string:
        return (this.#expected & KEY) === 0 ? this.#scalar() : this.#readKey()
      case TOKEN.word:
        return this.#scalar()
      default:
        return notJson()
    }
  }

  #open(isObject: boolean): Refusal | null {
    if ((this.#expected & VALUE) === 0) return notJson()
    if (this.#depth >= MAX_JSON_DEPTH) return tooDeep()
    this.#beginValue()
    if (this.#keeping !== null) this.#keeping.nodes += 1
    const paths = this.#keeping === null ? this.#pathsHere() : null
    const kept = this.#depth === 0 && isObject ? {} : null
    if (kept !== null) this.#root = kept
    this.#finder?.open(isObject)
    this.#frame = openFrame(this.#frames, this.#depth, { isObject, paths, kept })
    this.#depth += 1
    this.#expected = isObject ? KEY | END : VALUE | END
    return null
  }

  #close(isObject: boolean): Refusal | null {
    const frame = this.#frame
    if (frame?.isObject !== isObject || (this.#expected & END) === 0) return notJson()
    this.#depth -= 1
    this.#frame = this.#frames[this.#depth - 1] ?? null
    this.#finder?.close()
    if (this.#finder?.isWithinBounds === false) return tooManyFound()
    this.#openKeys -= frame.keyCount
    this.#openKeyChars -= frame.keyChars
    return this.#endValue()
  }

  #comma(): Refusal | null {
    const frame = this.#frame
    if (frame === null || (this.#expected & COMMA) === 0) return notJson()
    if (this.#keeping !== null) this.#keeping.commas += 1
    this.#expected = frame.isObject ? KEY : VALUE
    return null
  }

  #colon(): Refusal | null {
    if (this.#expected !== COLON) return notJson()
    this.#expected = VALUE
    return null
  }

  #scalar(): Refusal | null {
    if ((this.#expected & VALUE) === 0) return notJson()
    this.#beginValue()
    this.#finder?.scalar(this.#lexer.start, this.#lexer.end)
    return this.#endValue()
  }

  #readKey(): Refusal | null {
    const frame = this.#frame
    if (this.#lexer.end - this.#lexer.start > SCAN_BOUNDS.openKeyChars) return tooManyKeys()
    const key = this.#lexer.text()
    if (frame === null) return notJson()
    if (key.includes('\0')) return nulInKey()
    if (!addKey(frame.keys, key)) return twice(key)
    const { paths } = frame
    const kept = paths?.members.get(key) ?? null
    const other = paths === null || kept !== null ? null : foldsTo(paths, key)
    if (other !== null) return couldBe(key, other)
    // The name in the path is an internalized string. V8 finds a member faster by this name than by a new string.
    frame.key = kept?.name ?? key
    frame.next = kept
    this.#finder?.key(key)
    this.#expected = COLON
    return this.#countKey(frame, key)
  }

  #countKey(frame: Frame, { length }: string): Refusal | null {
    frame.keyCount += 1
    frame.keyChars += length
    this.#openKeys += 1
    this.#openKeyChars += length
    if (this.#keeping !== null) this.#keeping.nodes += 1
    const isTooMuch = this.#openKeys > SCAN_BOUNDS.openKeys || this.#openKeyChars > SCAN_BOUNDS.openKeyChars
    return isTooMuch ? tooManyKeys() : null
  }

  /** Returns the paths to keep at the current value; null if there are none. */
  #pathsHere(): MemberPaths | null {
    return this.#frame === null ? this.#rootPaths : this.#frame.next
  }

  #beginValue(): void {
    const depth = this.#depth
    if (depth === 1) this.#memberStart = this.#lexer.start
    if (this.#keeping !== null || depth === 0 || this.#pathsHere()?.isKept !== true) return
    this.#keeping = { start: this.#lexer.start, depth, nodes: 0, commas: 0 }
  }

  #endValue(): Refusal | null {
    const depth = this.#depth
    const { end } = this.#lexer
    this.#expected = depth === 0 ? NOTHING : COMMA | END
    const frame = this.#frame
    if (depth === 1 && frame?.isObject === true) this.#note(frame.key, end)
    const keeping = this.#keeping
    if (keeping === null || keeping.depth !== depth) return null
    this.#keeping = null
    return this.#keep(keeping, end)
  }

  #note(key: string, end: number): void {
    this.#memberCount += 1
    if (this.#members.length < SCAN_BOUNDS.members) {
      this.#members.push({ key, start: this.#memberStart, end })
    }
  }

  #keep({ start, nodes, commas }: Keeping, end: number): Refusal | null {
    this.#keptBytes += end - start
    const isTooMuch =
      this.#keptBytes > SCAN_BOUNDS.keptBytes || nodes > MAX_JSON_NODES || commas > MAX_JSON_COMMAS
    if (isTooMuch) return tooMuchKept(this.#frames[0]?.key ?? '')
    const value = parseValue(this.#bytes, start, end)
    put(this.#keptPart(this.#depth - 1), this.#frame?.key ?? '', value)
    return null
  }

  /** Returns the object or list that collects the kept members at this depth, after linking it into its parents. */
  #keptPart(at: number): Record<string, unknown> | unknown[] {
    const frame = this.#frames[at]
    if (frame === undefined) return []
    if (frame.kept !== null) return frame.kept
    frame.kept = frame.isObject ? {} : []
    const parent = this.#frames[at - 1]
    if (parent === undefined) this.#root = frame.kept
    else put(this.#keptPart(at - 1), parent.key, frame.kept)
    return frame.kept
  }
}
