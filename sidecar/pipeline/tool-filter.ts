import {
  createEventFilter,
  type FilteredMessage,
  filterToolList,
  MAX_EVENT_CHARS,
  toolListIds,
} from '../../core/connectors/mcp/tool-list.ts'
import { callableTools, hidesTools } from '../../core/decision/callable-tools.ts'
import { parseBody } from '../../core/request/body.ts'
import type { CanonicalRequest, RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers.ts'
import type { AnswerEdit, BodyEdit } from '../upstream/answer-edit.ts'
import type { Exchange } from './exchange.ts'

/**
 * Takes the tools that the agent would be refused out of the answer to its `tools/list`. Null for every other request,
 * unless the Connector sets `mcp.filterTools`, and where no tool is denied. The record says how many were taken out.
 */
export function toolFilterOf(exchange: Exchange, nowMs: number): AnswerEdit | null {
  const { connector: bound, snapshot, agent, request } = exchange
  if (bound === undefined || snapshot === undefined || agent === undefined || request === undefined)
    return null
  const ids = isFiltered(exchange) ? idsOf(exchange, request) : NO_IDS
  if (ids.size === 0) return null
  const given = { snapshot, agent, bound, request, nowMs }
  if (!hidesTools(given)) return null
  const mayCall = callableTools(given)
  const count = { hidden: 0 }
  const filter = (text: string) => noted(exchange, count, filterToolList(text, ids, mayCall))
  return { begin: (status, headers) => (status === 200 ? bodyEdit(headers, filter) : null) }
}

const NO_IDS: ReadonlySet<string> = new Set()

function idsOf({ bodyBytes }: Exchange, { body }: CanonicalRequest): ReadonlySet<string> {
  const view = bodyBytes === undefined ? null : parseBody(bodyBytes, body, [])
  return view?.kind === 'json' ? toolListIds(view.value) : NO_IDS
}

function isFiltered({ connector, actions = [] }: Exchange): boolean {
  return (
    connector?.connector.name === 'mcp' &&
    connector.entry.mcp?.filterTools === true &&
    actions.some(({ type }) => type === 'mcp.tools.list')
  )
}

/** An answer that is compressed could not be read: the server is asked for a plain one. */
export function askForPlain(rawHeaders: RawHeaders): string[] {
  const out: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.toLowerCase() !== 'accept-encoding') out.push(name, rawHeaders[at + 1] ?? '')
  }
  return [...out, 'accept-encoding', 'identity']
}

type Filter = (text: string) => FilteredMessage

function noted({ outcome }: Exchange, count: { hidden: number }, filtered: FilteredMessage): FilteredMessage {
  count.hidden += filtered.hidden.length
  if (count.hidden > 0) outcome.note = `${count.hidden} ${count.hidden === 1 ? 'tool' : 'tools'} hidden`
  return filtered
}

/** What is compressed all the same passes as it is: the list is a courtesy, each call is decided on its own. */
function bodyEdit(headers: RawHeaders, filter: Filter): BodyEdit | null {
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase()
  if (coding !== undefined && coding !== '' && coding !== 'identity') return null
  const [type = ''] = (headerValue(headers, 'content-type') ?? '').toLowerCase().split(';')
  const isWhole = headerValue(headers, 'content-length') !== undefined
  if (type.trim() === 'application/json') return whole((body) => filterJson(body, filter))
  if (type.trim() !== 'text/event-stream') return null
  return isWhole ? whole((body) => filterEvents(body, filter)) : eventEdit(filter)
}

function whole(edit: (body: Buffer) => Buffer): BodyEdit {
  return { kind: 'whole', maxBytes: MAX_EVENT_CHARS, edit }
}

function filterJson(body: Buffer, filter: Filter): Buffer {
  const { text, hidden } = filter(body.toString('utf8'))
  return hidden.length === 0 ? body : Buffer.from(text)
}

function filterEvents(body: Buffer, filter: Filter): Buffer {
  const events = eventEdit(filter)
  const edited = Buffer.concat([events.push(body), events.end()])
  return edited.equals(body) ? body : edited
}

/** One character a byte, so that bytes which are no text, or half a character, pass unharmed. */
function eventEdit(filter: Filter): Extract<BodyEdit, { kind: 'stream' }> {
  const events = createEventFilter((data) => {
    const { text, hidden } = filter(Buffer.from(data, 'latin1').toString('utf8'))
    return hidden.length === 0 ? data : Buffer.from(text).toString('latin1')
  })
  return {
    kind: 'stream',
    push: (chunk) => Buffer.from(events.push(chunk.toString('latin1')), 'latin1'),
    end: () => Buffer.from(events.end(), 'latin1'),
  }
}
