import { exceedsJsonBounds } from '../../request/json-size.ts'
import type { Sliced } from '../../sliced.ts'
import { isRecord } from '../fields.ts'

/** Whether the agent may call a tool of this name, now or after a person agreed. */
export type MayCall = (toolName: string) => boolean

/** What a filter made of one message: the same bytes, or a shorter list and what is missing in it. */
export type FilteredMessage = { readonly text: string; readonly hidden: readonly string[] }

/** Answers and events beyond these pass as they are. */
export const TOOL_LIST_BOUNDS = { chars: 256 * 1024, tools: 1_000, nodes: 20_000, commas: 20_000 } as const
/** Names that are decided between two yields. */
export const NAMES_PER_SLICE = 32

/**
 * Takes the tools that the agent may not call out of an answer to `tools/list`, so that a model is not shown what it
 * would be refused. `ids` are those of the requests (as JSON). Everything else, an answer beyond `TOOL_LIST_BOUNDS`, and
 * one in which nothing is hidden, comes back byte for byte. This is a courtesy, no protection: a call is decided on its
 * own. Yields after the parsing and after each `NAMES_PER_SLICE` names.
 */
export function* filterToolList(
  text: string,
  ids: ReadonlySet<string>,
  mayCall: MayCall,
): Sliced<FilteredMessage> {
  const { chars, tools, ...bounds } = TOOL_LIST_BOUNDS
  const unchanged = { text, hidden: [] }
  if (text.length > chars || exceedsJsonBounds(text, bounds)) return unchanged
  const value = parse(text)
  const messages = Array.isArray(value) ? value : [value]
  const lists = messages.flatMap((message) => listsIn(message, ids))
  if (lists.length === 0 || lists.flat().length > tools) return unchanged
  yield
  const hidden = yield* hiddenTools(lists.flat(), mayCall)
  if (hidden.size === 0) return unchanged
  const kept = messages.map((message) => withoutTools(message, ids, hidden))
  return {
    text: JSON.stringify(Array.isArray(value) ? kept : kept[0]),
    hidden: [...hidden].flatMap((tool) => nameOf(tool) ?? []),
  }
}

/** The ids (as JSON) of the `tools/list` requests among what the agent sent. */
export function toolListIds(body: unknown): ReadonlySet<string> {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  const requests = messages.filter((message) => isRecord(message) && message['method'] === 'tools/list')
  return new Set(
    requests.flatMap((message) =>
      isRecord(message) && message['id'] !== undefined ? [JSON.stringify(message['id'])] : [],
    ),
  )
}

/** The list of tools in an answer to one of the requests. */
function listsIn(message: unknown, ids: ReadonlySet<string>): readonly (readonly unknown[])[] {
  if (!isRecord(message) || !ids.has(JSON.stringify(message['id']))) return []
  const { result } = message
  return isRecord(result) && Array.isArray(result['tools']) ? [result['tools']] : []
}

function* hiddenTools(tools: readonly unknown[], mayCall: MayCall): Sliced<ReadonlySet<unknown>> {
  const hidden = new Set<unknown>()
  let decided = 0
  for (const tool of tools) {
    const name = nameOf(tool)
    if (name === undefined) continue
    if (!mayCall(name)) hidden.add(tool)
    decided += 1
    if (decided % NAMES_PER_SLICE === 0) yield
  }
  return hidden
}

function nameOf(tool: unknown): string | undefined {
  const name = isRecord(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? name : undefined
}

function withoutTools(message: unknown, ids: ReadonlySet<string>, hidden: ReadonlySet<unknown>): unknown {
  const [list] = listsIn(message, ids)
  if (list === undefined || !isRecord(message) || !isRecord(message['result'])) return message
  return { ...message, result: { ...message['result'], tools: list.filter((tool) => !hidden.has(tool)) } }
}

/** Numbers stay the text that they were: the bounds in a tool's schema are often beyond what a double can hold. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, { source }: { source?: string } = {}) =>
      typeof value === 'number' && source !== undefined ? rawJson(source) : value,
    )
  } catch {
    return undefined
  }
}

/** Not in the library's types yet. */
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** Events and what stands between them, in order: together the text as it came. */
export type EventPiece = { readonly text: string; readonly isEvent: boolean }

export type EventSplitter = {
  /** Decoded text as it arrives; answers what may go on at once, cut at the ends of events. */
  push(chunk: string): readonly EventPiece[]
  /** What is left when the stream ends. */
  end(): string
}

/** Lines end in CRLF, LF or CR, and the two that make a blank one need not be of a kind. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g
/** How much of the end of a chunk may belong to a blank line that the next chunk ends. */
const OVERLAP = 3

/**
 * Cuts server-sent events at their ends. Text that was searched is not searched again, however small the chunks are. The
 * parts of an event that is longer than `TOOL_LIST_BOUNDS` go on as they come, as no events.
 */
export function createEventSplitter(): EventSplitter {
  let held: string[] = []
  let heldChars = 0
  let tail = ''
  let isTooLong = false

  function take(text: string): EventPiece {
    const piece = { text: held.join('') + text, isEvent: !isTooLong }
    held = []
    heldChars = 0
    isTooLong = false
    return piece
  }

  function hold(rest: string): readonly EventPiece[] {
    if (rest === '') return []
    held.push(rest)
    heldChars += rest.length
    if (!isTooLong && heldChars <= TOOL_LIST_BOUNDS.chars) return []
    const text = held.join('')
    held = []
    heldChars = 0
    isTooLong = true
    return [{ text, isEvent: false }]
  }

  return {
    push(chunk) {
      const searched = tail + chunk
      const offset = tail.length
      const pieces: EventPiece[] = []
      let from = 0
      for (const match of searched.matchAll(BLANK_LINE)) {
        const end = match.index + match[0].length - offset
        // It ended in the chunk before, and only now the next line end is known to be another one.
        if (end <= from) continue
        pieces.push(take(chunk.slice(from, end)))
        from = end
      }
      tail = from === 0 ? searched.slice(-OVERLAP) : chunk.slice(from).slice(-OVERLAP)
      return [...pieces, ...hold(chunk.slice(from))]
    },
    end: () => take('').text,
  }
}

/** The same for one server-sent event: its other fields stay untouched. */
export function* filterEvent(
  event: string,
  filter: (data: string) => Sliced<FilteredMessage>,
): Sliced<FilteredMessage> {
  const lines = event.split(/\r\n|\n|\r/)
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''))
  // No list of tools without the word, unless it is escaped.
  if (data.length === 0 || !/tools|\\u/.test(event)) return { text: event, hidden: [] }
  const { text, hidden } = yield* filter(data.join('\n'))
  if (hidden.length === 0) return { text: event, hidden }
  const first = lines.findIndex(isData)
  const kept = lines.flatMap((line, at) => (isData(line) ? (at === first ? [`data: ${text}`] : []) : [line]))
  return { text: kept.join('\n'), hidden }
}

function isData(line: string): boolean {
  return line === 'data' || line.startsWith('data:')
}
