/**
 * One reference that a push creates, moves or deletes. Object ids are hex, 40 or 64 digits; all zeros mean no object.
 */
export type PushCommand = { readonly ref: string; readonly before: string; readonly after: string }

/**
 * Result of reading the head of a push. `more`: the bytes end before the commands do. `packAt`: offset of the pack,
 * after the push options. `shallow`: commits at which the client's history is cut (shallow clone).
 */
export type PushHead =
  | {
      readonly kind: 'commands'
      readonly commands: readonly PushCommand[]
      readonly shallow: ReadonlySet<string>
      readonly packAt: number
    }
  | { readonly kind: 'more' }
  | { readonly kind: 'malformed'; readonly detail: string }

export const MAX_COMMANDS = 512
/** Maximum number of pkt-lines before a flush-pkt, including shallow lines. */
const MAX_LINES = MAX_COMMANDS * 2
const SHALLOW = 'shallow '
const COMMAND = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\0\n ]{1,1024})$/

/**
 * Reads the commands at the head of a push (`git-receive-pack`): pkt-lines that end with a flush-pkt. The first command
 * carries the client's capabilities after a NUL. Shallow lines precede the commands, push options follow the commands.
 * A signed push counts as malformed, because it wraps its commands in a certificate. Clients also send an empty push
 * before a large one, to check their permission.
 */
export function readPushHead(bytes: Uint8Array): PushHead {
  const section = readSection(bytes, 0)
  if (section.kind !== 'lines') return section
  // The first command carries the client's capabilities; shallow lines may precede it.
  const hasOptions = section.texts.some(hasPushOptions)
  const lines = section.texts.map((text) => text.replace(/\n$/, '').split('\0')[0] ?? '')
  const isShallow = (line: string) => line.startsWith(SHALLOW)
  const shallow = new Set(lines.filter(isShallow).map((line) => line.slice(SHALLOW.length)))
  const commands = lines.filter((line) => !isShallow(line)).map(readCommand)
  if (!commands.every((command) => command !== null))
    return malformed(
      'a line of the push is not a reference update of the git protocol; push with a git client',
    )
  if (commands.length > MAX_COMMANDS)
    return malformed(`a push may update at most ${MAX_COMMANDS} references; push them in several steps`)
  const options = hasOptions ? readSection(bytes, section.next) : section
  return options.kind === 'lines' ? { kind: 'commands', commands, shallow, packAt: options.next } : options
}

/**
 * Returns a function that finds the end of the commands while the bytes arrive. The function returns the byte count to
 * wait for before its next call. A count that is already available means that the commands, and the push options if
 * any, have ended or cannot be read.
 */
export function scanCommands(): (bytes: Uint8Array) => number {
  const scan = { at: 0, lines: 0, hasOptions: false, isOver: false }
  return (bytes) => {
    while (!scan.isOver) {
      const needed = scanLine(bytes, scan)
      if (needed > bytes.length) return needed
    }
    return 0
  }
}

type CommandScan = { at: number; lines: number; hasOptions: boolean; isOver: boolean }

/**
 * Advances the scan past one pkt-line if the line is complete. Returns the offset up to which the caller must have
 * bytes. `readPushHead` validates the line later.
 */
function scanLine(bytes: Uint8Array, scan: CommandScan): number {
  const length = readLength(bytes, scan.at)
  if (length === null) return scan.at + 4
  const end = scan.at + Math.max(length, 4)
  if (end > bytes.length) return end
  const line = bytes.subarray(scan.at + 4, end)
  // Push options form a separate section after the commands.
  const isLast = length === 0 && !scan.hasOptions
  if (length === 0) scan.hasOptions = false
  else scan.hasOptions ||= announcesOptions(line)
  scan.lines = length === 0 ? 0 : scan.lines + 1
  scan.isOver = isLast || (length !== 0 && length < 5) || scan.lines > MAX_LINES
  scan.at = end
  return end
}

function announcesOptions(line: Uint8Array): boolean {
  return hasPushOptions(decode(line) ?? '')
}

function hasPushOptions(text: string): boolean {
  return text.split('\0')[1]?.trim().split(' ').includes('push-options') === true
}

function readCommand(line: string): PushCommand | null {
  const [all, before = '', after = '', ref = ''] = COMMAND.exec(line) ?? []
  return all === undefined || before.length !== after.length ? null : { ref, before, after }
}

export function isNothing(id: string): boolean {
  return /^0+$/.test(id)
}

type Section =
  | { readonly kind: 'lines'; readonly texts: readonly string[]; readonly next: number }
  | Extract<PushHead, { kind: 'more' | 'malformed' }>

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads pkt-lines up to and including the next flush-pkt. */
function readSection(bytes: Uint8Array, from: number): Section {
  const texts: string[] = []
  let at = from
  for (let length = readLength(bytes, at); length !== 0; length = readLength(bytes, at)) {
    if (length === null || at + length > bytes.length) return { kind: 'more' }
    const text = length < 5 ? null : decode(bytes.subarray(at + 4, at + length))
    if (text === null || texts.length > MAX_LINES) return malformed('a line of the push cannot be read')
    texts.push(text)
    at += length
  }
  return { kind: 'lines', texts, next: at + 4 }
}

/** Returns the length of a pkt-line; null for fewer than four bytes, -1 for invalid hex digits. */
function readLength(bytes: Uint8Array, at: number): number | null {
  if (bytes.length < at + 4) return null
  const digits = String.fromCharCode(...bytes.subarray(at, at + 4))
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : -1
}

function decode(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}

function malformed(detail: string): Extract<PushHead, { kind: 'malformed' }> {
  return { kind: 'malformed', detail }
}
