import { isRecord } from '../fields.ts'

/** Whether the agent may call a tool of this name, now or after a person agreed. */
export type MayCall = (toolName: string) => boolean

/** What a filter made of one message: the same bytes, or a shorter list and what is missing in it. */
export type FilteredMessage = { readonly text: string; readonly hidden: readonly string[] }

/**
 * Takes the tools that the agent may not call out of an answer to `tools/list`, so that a model is not shown what it
 * would be refused. `ids` are those of the requests (as JSON). Everything else, and an answer in which nothing is
 * hidden, comes back byte for byte. This is a courtesy, no protection: a call is decided on its own.
 */
export function filterToolList(text: string, ids: ReadonlySet<string>, mayCall: MayCall): FilteredMessage {
  const value = parse(text)
  const messages = Array.isArray(value) ? value : [value]
  const hidden: string[] = []
  const kept = messages.map((message) => filterMessage(message, ids, { mayCall, hidden }))
  if (hidden.length === 0) return { text, hidden }
  return { text: JSON.stringify(Array.isArray(value) ? kept : kept[0]), hidden }
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

type Filter = { readonly mayCall: MayCall; readonly hidden: string[] }

function filterMessage(message: unknown, ids: ReadonlySet<string>, { mayCall, hidden }: Filter): unknown {
  if (!isRecord(message) || !ids.has(JSON.stringify(message['id']))) return message
  const { result } = message
  if (!isRecord(result) || !Array.isArray(result['tools'])) return message
  const tools = result['tools'].filter((tool: unknown) => {
    const name = isRecord(tool) ? tool['name'] : undefined
    if (typeof name !== 'string' || mayCall(name)) return true
    hidden.push(name)
    return false
  })
  return { ...message, result: { ...result, tools } }
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

/** Events, and whole answers, longer than this pass as they are: a list of tools is far shorter, and nothing may be held back for long. */
export const MAX_EVENT_CHARS = 4 * 1024 * 1024

export type EventFilter = {
  /** Decoded text as it arrives; answers what may go on at once, cut at the ends of events. */
  push(chunk: string): string
  /** What is left when the stream ends. */
  end(): string
}

/**
 * The same over server-sent events: each event goes on as soon as it is whole, its other fields untouched. Text that
 * is no event (a comment that keeps the connection open) passes too.
 */
export function createEventFilter(rewrite: (data: string) => string): EventFilter {
  let rest = ''
  let isTooLong = false
  return {
    push(chunk) {
      rest += chunk
      let out = ''
      for (let end = endOfEvent(rest); end !== -1; end = endOfEvent(rest)) {
        out += isTooLong ? rest.slice(0, end) : rewriteEvent(rest.slice(0, end), rewrite)
        rest = rest.slice(end)
        isTooLong = false
      }
      if (rest.length > MAX_EVENT_CHARS || isTooLong) {
        out += rest
        rest = ''
        isTooLong = true
      }
      return out
    },
    end() {
      const last = rest
      rest = ''
      return last
    },
  }
}

/** Lines end in CRLF, LF or CR, and the two that make a blank one need not be of a kind. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/

function endOfEvent(text: string): number {
  const match = BLANK_LINE.exec(text)
  return match === null ? -1 : match.index + match[0].length
}

/** Joins the event's data lines as a reader would, and writes them back as one line where the rewriting changed them. */
function rewriteEvent(event: string, rewrite: (data: string) => string): string {
  const lines = event.split(/\r\n|\n|\r/)
  const isData = (line: string) => line === 'data' || line.startsWith('data:')
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''))
  if (data.length === 0) return event
  const before = data.join('\n')
  const after = rewrite(before)
  if (after === before) return event
  const first = lines.findIndex(isData)
  const kept = lines.flatMap((line, at) => (isData(line) ? (at === first ? [`data: ${after}`] : []) : [line]))
  return kept.join('\n')
}
