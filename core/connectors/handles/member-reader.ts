/** Members of a JSON text that arrives in chunks, read without keeping it. */
export type MemberReader = {
  /** False once nothing more is looked for. */
  push(bytes: Uint8Array): boolean
  /** By the index of its path: the text found there. */
  readonly found: ReadonlyMap<number, string>
}

const MAX_TEXT = 512
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Looks for texts at these paths of members, the first of each. It reads what JSON means of well-formed texts, in one
 * pass; of others it finds something or nothing.
 */
export function createMemberReader(paths: readonly (readonly string[])[]): MemberReader {
  return new Reader(paths)
}

class Reader implements MemberReader {
  readonly found = new Map<number, string>()
  readonly #paths: readonly (readonly string[])[]
  readonly #depth: number
  /** For every open container whether it is an object. */
  readonly #isObject: boolean[] = []
  /** Keys of the members that are read, by depth. */
  readonly #keys: string[] = []
  /** The bytes of the string that is read; null outside of strings. */
  #text: number[] | null = null
  #isEscaped = false
  #isKey = false

  constructor(paths: readonly (readonly string[])[]) {
    this.#paths = paths
    this.#depth = Math.max(...paths.map(({ length }) => length))
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
        this.#text = []
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

  /** True at the end of the string. */
  #inString(byte: number, text: number[]): boolean {
    const isEnd = byte === QUOTE && !this.#isEscaped
    if (!isEnd) {
      if (text.length <= MAX_TEXT) text.push(byte)
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
      return false
    }
    this.#text = null
    const depth = this.#isObject.length
    if (depth >= 1 && depth <= this.#depth && this.#isObject.at(-1) === true) this.#note(text, depth)
    return true
  }

  #note(bytes: readonly number[], depth: number): void {
    const text = textOf(bytes)
    if (this.#isKey) {
      this.#keys.length = depth
      this.#keys[depth - 1] = text ?? ''
      return
    }
    const at = this.#paths.findIndex(
      (path, index) => path.length === depth && !this.found.has(index) && this.#isAt(path),
    )
    if (at !== -1 && text !== null) this.found.set(at, text)
  }

  #isAt(path: readonly string[]): boolean {
    return path.every((key, at) => this.#isObject[at] === true && this.#keys[at] === key)
  }
}

/** Null for a text that is too long or no JSON. */
function textOf(bytes: readonly number[]): string | null {
  if (bytes.length > MAX_TEXT) return null
  try {
    return String(JSON.parse(`"${UTF8.decode(Uint8Array.from(bytes))}"`))
  } catch {
    return null
  }
}

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })
