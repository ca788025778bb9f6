import { createEventSplitter, filterEvents } from '../../../core/connectors/mcp/event-stream.ts'
import {
  type FilteredMessage,
  filterToolList,
  TOOL_LIST_BOUNDS,
  toolListIds,
} from '../../../core/connectors/mcp/tool-list.ts'
import { callableTools, hidesTools } from '../../../core/decision/callable-tools.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import type { CanonicalRequest, RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { Sliced } from '../../../core/sliced.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import type { AnswerEdit, BodyEdit, PacedEdit } from '../../upstream/answer-edit.ts'
import type { Exchange } from '../exchange.ts'
import type { Pacer, TimeBudget } from '../pacer.ts'

/**
 * Takes the tools that the agent would be refused out of the answer to its `tools/list`. Null for every other request,
 * unless the Connector sets `mcp.filterTools`, and where no tool is denied. The record says how many were taken out.
 */
export function toolFilterOf(exchange: Exchange, nowMs: number, pacer: Pacer): AnswerEdit | null {
  const { connector: bound, snapshot, agent, request } = exchange
  if (bound === undefined || snapshot === undefined || agent === undefined || request === undefined)
    return null
  const ids = isFiltered(exchange) ? idsOf(exchange, request) : NO_IDS
  if (ids.size === 0) return null
  const given = { snapshot, agent, bound, request, nowMs }
  if (!hidesTools(given)) return null
  const mayCall = callableTools(given)
  const filter = (text: string) => filterToolList(text, ids, mayCall)
  const edit = { exchange, pacer, filter, budget: { leftMs: LIMITS.answerEditMs } }
  return { begin: (status, headers) => (status === 200 ? bodyEdit(headers, edit) : null) }
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

type Given = {
  readonly exchange: Exchange
  readonly pacer: Pacer
  readonly budget: TimeBudget
  readonly filter: (text: string) => Sliced<FilteredMessage>
}

/** A compressed list passes unfiltered: filtering is a convenience, and each call is decided on its own. */
function bodyEdit(headers: RawHeaders, given: Given): BodyEdit | null {
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase()
  if (coding !== undefined && coding !== '' && coding !== 'identity') return null
  const [type = ''] = (headerValue(headers, 'content-type') ?? '').toLowerCase().split(';')
  const isWhole = headerValue(headers, 'content-length') !== undefined
  if (type.trim() === 'application/json') return whole((body) => editJson(body, given))
  if (type.trim() !== 'text/event-stream') return null
  return isWhole ? whole((body) => editEvents(body, given)) : eventEdit(given)
}

function whole(edit: (body: Buffer) => Promise<Buffer>): BodyEdit {
  return { kind: 'whole', maxBytes: TOOL_LIST_BOUNDS.chars, edit }
}

async function editJson(body: Buffer, { exchange, pacer, budget, filter }: Given): Promise<Buffer> {
  const filtered = await pacer.runWithin(exchange, filter(body.toString('utf8')), budget)
  const hidden = filtered?.hidden ?? []
  note(exchange, hidden.length)
  return filtered === null || hidden.length === 0 ? body : Buffer.from(filtered.text)
}

async function editEvents(body: Buffer, given: Given): Promise<Buffer> {
  const events = eventEdit(given)
  const edited = Buffer.concat([await events.push(body), events.end()])
  return edited.equals(body) ? body : edited
}

const LINE_END = /[\r\n]/

/**
 * One character a byte, so that bytes which are no text, or half a character, pass unharmed. Cutting and filtering count
 * against the budget; when it is spent, the rest of the answer passes as it is.
 */
function eventEdit(given: Given): PacedEdit {
  const { exchange, pacer, budget } = given
  const events = createEventSplitter()
  let isSpent = false

  async function edited(): Promise<Buffer> {
    const out: string[] = []
    const onHidden = (tools: number) => note(exchange, tools)
    const work = filterEvents(events, (data) => filterLatin1(data, given), { out, onHidden })
    isSpent = (await pacer.runWithin(exchange, work, budget)) === null
    return latin1(out.join('') + (isSpent ? events.rest() : ''))
  }

  return {
    kind: 'paced',
    push(chunk) {
      if (isSpent) return chunk
      const text = chunk.toString('latin1')
      events.push(text)
      // Without a line end it ends no event.
      return LINE_END.test(text) ? edited() : latin1(events.next()?.text ?? '')
    },
    end: () => latin1(events.rest()),
  }
}

function* filterLatin1(data: string, { filter }: Given): Sliced<FilteredMessage> {
  const { text, hidden } = yield* filter(Buffer.from(data, 'latin1').toString('utf8'))
  return { text: hidden.length === 0 ? data : Buffer.from(text).toString('latin1'), hidden }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** The record says how many tools were taken out of the answer, in all. */
function note(exchange: Exchange, hidden: number): void {
  if (hidden === 0) return
  const all = (exchange.hiddenTools ?? 0) + hidden
  exchange.hiddenTools = all
  exchange.outcome.note = `${all} ${all === 1 ? 'tool' : 'tools'} hidden`
}
