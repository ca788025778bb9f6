import type { Sliced } from '../../sliced.ts'
import { type FilteredMessage, TOOL_LIST_BOUNDS } from './tool-list.ts'

/** One event of a stream of server-sent events, or the text between two events. All pieces in order are the stream. */
export type EventPiece = { readonly text: string; readonly isEvent: boolean }

export type EventSplitter = {
  /** Adds decoded text as it arrives. The caller must have taken all earlier pieces. */
  push(chunk: string): void
  /** Returns the next piece, up to the end of the next event; null if more text is needed. */
  next(): EventPiece | null
  /** Returns the buffered text, for which `next` returned no piece yet. */
  rest(): string
}

/** Matches the end of an event. Lines end in CRLF, LF or CR; the two line ends of a blank line may differ. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g
/** Maximum length of the end of a chunk that may be part of a blank line. */
const OVERLAP = 3

/**
 * Splits server-sent events at their ends, one at a time. Searched text is not searched again, regardless of the size
 * of the chunks. The parts of an event that exceeds `TOOL_LIST_BOUNDS` are passed on as they arrive, not as events.
 */
export function createEventSplitter(): EventSplitter {
  const blankLine = new RegExp(BLANK_LINE)
  /** Chunks of the current event, whose end has not arrived. */
  let held: string[] = []
  let heldChars = 0
  let isTooLong = false
  let chunk = ''
  /** Searched text: the end of the previous chunk, then the current chunk. */
  let searched = ''
  /** Offset of the next piece in the chunk. */
  let from = 0

  function take(text: string): EventPiece {
    const piece = { text: held.length === 0 ? text : held.join('') + text, isEvent: !isTooLong }
    held = []
    heldChars = 0
    isTooLong = false
    return piece
  }

  /**
   * Buffers the rest of a chunk that completes no further event. Returns the buffered text as a piece if the event is
   * too long.
   */
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
        // This match lies in the overlap with the previous chunk. Its event was returned with that chunk.
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

/** Maximum work between two yields: number of events and of characters. */
export const EVENT_SLICE = { events: 64, chars: 16 * 1024 } as const

/**
 * Takes all pieces from the splitter and appends them to `out`. Tool lists in events are filtered, and `onHidden`
 * receives the number of tools removed from each event. If a caller stops early, the remaining pieces stay in the
 * splitter.
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

/** Matches an event with a data line that begins with an object or a list. */
const JSON_DATA = /(?:^|[\r\n])data:[ \t]*[[{]/
/** Matches text that may contain a list of tools: the word itself, or an escape that may hide it. */
const TOOLS = /tools|\\u/

function mayHoldList(event: string): boolean {
  return TOOLS.test(event) && JSON_DATA.test(event)
}

/** Filters the data of one server-sent event and keeps its other fields. */
function* filterEvent(
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
