import type { Sliced } from '../../sliced.ts'
import { type FilteredMessage, TOOL_LIST_BOUNDS } from './tool-list.ts'

/** Events and the text between them, in order: together the text as it came. */
export type EventPiece = { readonly text: string; readonly isEvent: boolean }

export type EventSplitter = {
  /** Decoded text as it arrives. All pieces of the text before have to be taken. */
  push(chunk: string): void
  /** What may go on, up to the end of the next event; null when the rest has to wait for more text. */
  next(): EventPiece | null
  /** All text that was not taken yet. */
  rest(): string
}

/** Lines end in CRLF, LF or CR, and the two that make a blank one need not be of a kind. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g
/** How much of the end of a chunk may belong to a blank line that the next chunk ends. */
const OVERLAP = 3

/**
 * Cuts server-sent events at their ends, one at a time. Text that was searched is not searched again, however small the
 * chunks are. The parts of an event that is longer than `TOOL_LIST_BOUNDS` go on as they come, as no events.
 */
export function createEventSplitter(): EventSplitter {
  const blankLine = new RegExp(BLANK_LINE)
  /** The start of an event whose end has not come yet. */
  let held: string[] = []
  let heldChars = 0
  let isTooLong = false
  let chunk = ''
  /** The end of the chunk before, and the chunk. */
  let searched = ''
  /** Where in the chunk the next piece begins. */
  let from = 0

  function take(text: string): EventPiece {
    const piece = { text: held.length === 0 ? text : held.join('') + text, isEvent: !isTooLong }
    held = []
    heldChars = 0
    isTooLong = false
    return piece
  }

  /** The chunk ends no further event. */
  function hold(): EventPiece | null {
    const text = chunk.slice(from)
    searched = from === 0 ? searched.slice(-OVERLAP) : text.slice(-OVERLAP)
    chunk = ''
    from = 0
    if (text === '') return null
    held.push(text)
    heldChars += text.length
    if (!isTooLong && heldChars <= TOOL_LIST_BOUNDS.chars) return null
    isTooLong = true
    const piece = { text: held.join(''), isEvent: false }
    held = []
    heldChars = 0
    return piece
  }

  return {
    push(text) {
      chunk = text
      searched += text
      blankLine.lastIndex = 0
    },
    next() {
      if (chunk === '') return null
      const offset = searched.length - chunk.length
      for (let match = blankLine.exec(searched); match !== null; match = blankLine.exec(searched)) {
        const end = match.index + match[0].length - offset
        // It ended in the chunk before, and only now the next line end is known to be another one.
        if (end <= from) continue
        const piece = take(chunk.slice(from, end))
        from = end
        return piece
      }
      return hold()
    },
    rest() {
      const { text } = take(chunk.slice(from))
      chunk = ''
      searched = ''
      from = 0
      return text
    },
  }
}

/** Events and characters of a stream that are looked at between two yields. */
export const EVENT_SLICE = { events: 64, chars: 16 * 1024 } as const

/**
 * Takes all pieces from the splitter and appends them to `out`, the data of events filtered; `onHidden` gets the number of
 * tools that each event lost. Abandoned, it leaves in the splitter what it has not taken.
 */
export function* filterEvents(
  events: EventSplitter,
  filter: (data: string) => Sliced<FilteredMessage>,
  { out, onHidden }: { readonly out: string[]; readonly onHidden: (tools: number) => void },
): Sliced<undefined> {
  let count = 0
  let chars = 0
  for (let piece = events.next(); piece !== null; piece = events.next()) {
    const at = out.push(piece.text) - 1
    if (piece.isEvent && mayHoldList(piece.text)) {
      const { text, hidden } = yield* filterEvent(piece.text, filter)
      out[at] = text
      onHidden(hidden.length)
    }
    count += 1
    chars += piece.text.length
    if (count < EVENT_SLICE.events && chars < EVENT_SLICE.chars) continue
    count = 0
    chars = 0
    yield
  }
}

/** The first line of data that is not blank begins an object or a list. */
const JSON_DATA = /(?:^|[\r\n])data:[ \t]*[[{]/
/** No list of tools without the word, unless it is escaped. */
const TOOLS = /tools|\\u/

function mayHoldList(event: string): boolean {
  return TOOLS.test(event) && JSON_DATA.test(event)
}

/** Filters the data of one server-sent event: its other fields stay untouched. */
export function* filterEvent(
  event: string,
  filter: (data: string) => Sliced<FilteredMessage>,
): Sliced<FilteredMessage> {
  const lines = event.split(/\r\n|\n|\r/)
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''))
  if (data.length === 0) return { text: event, hidden: [] }
  const { text, hidden } = yield* filter(data.join('\n'))
  if (hidden.length === 0) return { text: event, hidden }
  const first = lines.findIndex(isData)
  const kept = lines.flatMap((line, at) => (isData(line) ? (at === first ? [`data: ${text}`] : []) : [line]))
  return { text: kept.join('\n'), hidden }
}

function isData(line: string): boolean {
  return line === 'data' || line.startsWith('data:')
}
