import { createEventSplitter, filterEvents } from '../../../core/connectors/mcp/event-stream.ts'
import {
  type FilteredMessage,
  filterToolList,
  TOOL_LIST_BOUNDS,
  toolListIds,
} from '../../../core/connectors/mcp/tool-list.ts'
import { callableTools, hidesTools } from '../../../core/decision/callable-tools.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Sliced } from '../../../core/sliced.ts'
import type { Pacer } from '../pacer.ts'
import type { Answered, Journaled } from '../phases.ts'
import { type AnswerBudget, answerBudgetOf, type BudgetClock } from './answer-budget.ts'
import type { BodyEdit, PacedEdit } from './body-edit.ts'
import type { ResponseStage } from './response-stage.ts'

const STAGE = 'tool filter'

export type FilterDeps = {
  readonly clock: BudgetClock & { nowMs(): number }
  readonly pacer: Pacer
}

/**
 * Returns a stage that removes the tools that the agent may not call from a `tools/list` response. Returns null for
 * other requests, without `mcp.filterTools` on the Connector, and when no tool is denied. The record contains the
 * number of removed tools.
 */
export function toolFilterOf(exchange: Journaled, { clock, pacer }: FilterDeps): ResponseStage | null {
  const { connector: bound, snapshot, agent, request } = exchange
  if (bound === undefined || agent === undefined) return null
  const ids = isFiltered(exchange) ? idsOf(exchange) : NO_IDS
  if (ids.size === 0) return null
  const given = { snapshot, agent, bound, request, nowMs: clock.nowMs() }
  if (!hidesTools(given)) return null
  const mayCall = callableTools(given)
  const filter = (text: string) => filterToolList(text, ids, mayCall)
  const filteringOf = (answered: Answered): Filtering => ({
    exchange: answered,
    pacer,
    budget: answerBudgetOf(answered, clock),
    filter,
    hiddenTools: 0,
  })
  return {
    readsBody: true,
    edit: (status, headers, answered) => (status === 200 ? bodyEdit(headers, filteringOf(answered)) : null),
  }
}

const NO_IDS: ReadonlySet<string> = new Set()

function idsOf({ bodyBytes, request: { body } }: Journaled): ReadonlySet<string> {
  const view = bodyBytes === undefined ? null : parseBody(bodyBytes, body, [])
  return view?.kind === 'json' ? toolListIds(view.value) : NO_IDS
}

function isFiltered({ connector, actions = [] }: Journaled): boolean {
  return (
    connector?.connector.name === 'mcp' &&
    connector.entry.mcp?.filterTools === true &&
    actions.some(({ type }) => type === 'mcp.tools.list')
  )
}

/** Returns the headers with `Accept-Encoding: identity`, because the gateway cannot read a compressed response. */
export function askForPlain(rawHeaders: RawHeaders): string[] {
  const out: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.toLowerCase() !== 'accept-encoding') out.push(name, rawHeaders[at + 1] ?? '')
  }
  return [...out, 'accept-encoding', 'identity']
}

type Filtering = {
  readonly exchange: Answered
  readonly pacer: Pacer
  readonly budget: AnswerBudget
  readonly filter: (text: string) => Sliced<FilteredMessage>
  /** Number of tools that were removed so far. */
  hiddenTools: number
}

/**
 * Returns the edit for a response body. Returns null for a body that is compressed, or neither JSON nor an event
 * stream. Such a body is forwarded unfiltered: filtering is a convenience, because each tool call is decided
 * separately.
 */
function bodyEdit(headers: RawHeaders, given: Filtering): BodyEdit | null {
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

async function editJson(body: Buffer, given: Filtering): Promise<Buffer> {
  const { exchange, pacer, budget, filter } = given
  const filtered = await pacer.runWithin(exchange, filter(body.toString('utf8')), budget)
  if (filtered === null) budget.stop(STAGE)
  const hidden = filtered?.hidden ?? []
  note(given, hidden.length)
  return filtered === null || hidden.length === 0 ? body : Buffer.from(filtered.text)
}

async function editEvents(body: Buffer, given: Filtering): Promise<Buffer> {
  const events = eventEdit(given)
  const edited = Buffer.concat([await events.push(body), events.end()])
  return edited.equals(body) ? body : edited
}

const LINE_END = /[\r\n]/

/**
 * Filters events in latin-1, so that binary data and split characters are preserved. Splitting and filtering use up the
 * time budget; beyond the budget the rest of the response is forwarded unchanged.
 */
function eventEdit(given: Filtering): PacedEdit {
  const { exchange, pacer, budget } = given
  const events = createEventSplitter()
  let isSpent = false

  async function edited(): Promise<Buffer> {
    const out: string[] = []
    const onHidden = (tools: number) => note(given, tools)
    const work = filterEvents(events, (data) => filterLatin1(data, given), { out, onHidden })
    isSpent = (await pacer.runWithin(exchange, work, budget)) === null
    if (isSpent) budget.stop(STAGE)
    return latin1(out.join('') + (isSpent ? events.rest() : ''))
  }

  return {
    kind: 'paced',
    push(chunk) {
      if (isSpent) return chunk
      const text = chunk.toString('latin1')
      events.push(text)
      // A chunk without a line end completes no event.
      return LINE_END.test(text) ? edited() : latin1(events.next()?.text ?? '')
    },
    end: () => latin1(events.rest()),
  }
}

function* filterLatin1(data: string, { filter }: Filtering): Sliced<FilteredMessage> {
  const { text, hidden } = yield* filter(Buffer.from(data, 'latin1').toString('utf8'))
  return { text: hidden.length === 0 ? data : Buffer.from(text).toString('latin1'), hidden }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Sets the note of the record to the total number of removed tools. */
function note(given: Filtering, hidden: number): void {
  if (hidden === 0) return
  given.hiddenTools += hidden
  const all = given.hiddenTools
  given.exchange.outcome.note = `${all} ${all === 1 ? 'tool' : 'tools'} hidden`
}
