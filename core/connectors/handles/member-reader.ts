/** Reads members of a JSON text that arrives in chunks, without buffering it. */
export type MemberReader = {
  /** Reads the next chunk. Returns false once the search is complete. */
  push(bytes: Uint8Array): boolean
  /** Texts found so far, by the index of their path. */
  readonly found: ReadonlyMap<number, string>
}

/** Last part of a path that finds the name of the first member of an object, whatever the name is. */
export const ANY_MEMBER = '*'

const MAX_TEXT = 512
/** Marks a string whose bytes are skipped, because no searched path leads to the string. */
const UNREAD: number[] = []
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Creates a reader that finds the first text at each of these member paths, in one pass over well-formed JSON. A path
 * may end with `ANY_MEMBER`. The result for malformed JSON is unspecified.
 */
export function createMemberReader(paths: readonly (readonly string[])[]): MemberReader {
  return new Reader(paths)
}

class Reader implements MemberReader {
  readonly found = new Map<number, string>()
  readonly #paths: readonly (readonly string[])[]
  readonly #depth: number
  readonly #hasAny: boolean
  /** One entry for each open object (true) or list (false), from the root inwards. */
  readonly #isObject: boolean[] = []
  /** Key of the current member, by depth. */
  readonly #keys: string[] = []
  /** The bytes of the current string; null outside of strings. */
  #text: number[] | null = null
  #isEscaped = false
  #isKey = false

  constructor(paths: readonly (readonly string[])[]) {
    this.#paths = paths
    this.#depth = Math.max(...paths.map(({ length }) => length))
    this.#hasAny = paths.some((path) => path.at(-1) === ANY_MEMBER)
  }

  push(bytes: Uint8Array): boolean {
    for (const byte of bytes) {
      if (this.#text === null) this.#read(byte)
      else if (this.#inString(byte, this.#text) && this.found.size === this.#paths.length) return false
    }
    return true
  }

  #read(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#text = this.#isAtPath() ? [] : UNREAD
        return
      case OPEN_OBJECT:
      case OPEN_LIST:
        this.#isObject.push(byte === OPEN_OBJECT)
        this.#isKey = byte === OPEN_OBJECT
        return
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        this.#isObject.pop()
        this.#isKey = false
        return
      case COMMA:
        this.#isKey = this.#isObject.at(-1) === true
        return
      case COLON:
        this.#isKey = false
    }
  }

  /** Reads one byte of a string; returns true at its end. */
  #inString(byte: number, text: number[]): boolean {
    const isEnd = byte === QUOTE && !this.#isEscaped
    if (!isEnd) {
      if (text !== UNREAD && text.length <= MAX_TEXT) text.push(byte)
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
      return false
    }
    this.#text = null
    if (text !== UNREAD) this.#note(text, this.#isObject.length)
    return true
  }

  /** Reports whether the current container is an object that is not nested deeper than the longest path. */
  #isAtPath(): boolean {
    const depth = this.#isObject.length
    return depth >= 1 && depth <= this.#depth && this.#isObject[depth - 1] === true
  }

  #note(bytes: readonly number[], depth: number): void {
    const text = textOf(bytes)
    if (this.#isKey) {
      this.#keys.length = depth
      this.#keys[depth - 1] = text ?? ''
      if (!this.#hasAny) return
    }
    const at = this.#paths.findIndex(
      (path, index) => path.length === depth && !this.found.has(index) && this.#isAt(path),
    )
    if (at !== -1 && text !== null) this.found.set(at, text)
  }

  /** Reports whether the path leads to the current text: a value, or a name if the path ends with `ANY_MEMBER`. */
  #isAt(path: readonly string[]): boolean {
    const isAny = path.at(-1) === ANY_MEMBER
    const names = isAny ? path.slice(0, -1) : path
    return (
      isAny === this.#isKey &&
      this.#isObject[path.length - 1] === true &&
      names.every((key, at) => this.#isObject[at] === true && this.#keys[at] === key)
    )
  }
}

/** Returns the decoded text of a JSON string; null if the string is longer than `MAX_TEXT` bytes or not valid JSON. */
function textOf(bytes: readonly number[]): string | null {
  if (bytes.length > MAX_TEXT) return null
  try {
    return String(JSON.parse(`"${UTF8.decode(Uint8Array.from(bytes))}"`))
  } catch {
    return null
  }
}

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })
