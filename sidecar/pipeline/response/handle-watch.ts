import { createAnswerReader } from '../../../core/connectors/handles/answer-reader.ts'
import type { GivenAt, Handle, HandleReader } from '../../../core/connectors/handles/handle.ts'
import type { MemberReader } from '../../../core/connectors/handles/member-reader.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { AgentEntry } from '../../../core/wire/gateway/sync.ts'
import type { Journaled } from '../phases.ts'
import type { HandlePort } from '../ports.ts'
import { type AnswerBudget, answerBudgetOf, type BudgetClock } from './answer-budget.ts'
import type { ResponseStage } from './response-stage.ts'

/**
 * Returns a watch that records the ids of resources that the provider creates. The watch reads the response while it is
 * forwarded, because the agent may use the ids before the response has ended. Returns null when the operation creates
 * no resources.
 */
export function handleWatchOf(
  exchange: Journaled,
  handles: HandlePort,
  clock: BudgetClock,
): HandleWatch | null {
  const { connector, agent, actions = [], scan } = exchange
  const reader = connector?.connector.handles
  if (connector === undefined || reader === undefined || agent === undefined) return null
  const places = reader.given(actions, scan?.result.found ?? [])
  if (places.length === 0) return null
  const budget = answerBudgetOf(exchange, clock)
  return new HandleWatch(exchange, { handles, reader, places, connector, agent, budget })
}

/** Records the ids in response messages of a WebSocket, each of which is a JSON text. */
export function watchMessages(exchange: Journaled, handles: HandlePort, clock: BudgetClock): void {
  const watch = handleWatchOf(exchange, handles, clock)
  if (watch === null) return
  exchange.onAnswerMessage = (head) => {
    watch.head(200, [])
    watch.data(Buffer.from(head))
  }
}

type PlaceReader = { readonly kind: string; readonly body: MemberReader }

type Deps = {
  readonly handles: HandlePort
  readonly reader: HandleReader
  readonly places: readonly GivenAt[]
  readonly connector: BoundConnector
  readonly agent: AgentEntry
  readonly budget: AnswerBudget
}

class HandleWatch implements ResponseStage {
  /** True when the ids are in the response body, which must then be uncompressed. */
  readonly readsBody: boolean
  readonly #exchange: Journaled
  readonly #deps: Deps
  readonly #places: readonly Extract<GivenAt, { readonly path: unknown }>[]
  #readers: readonly PlaceReader[] = []

  constructor(exchange: Journaled, deps: Deps) {
    this.#exchange = exchange
    this.#deps = deps
    this.#places = deps.places.flatMap((place) => ('path' in place ? [place] : []))
    this.readsBody = this.#places.length > 0
  }

  head(status: number, headers: RawHeaders): void {
    if (status < 200 || status >= 300) return
    for (const place of this.#deps.places) {
      const value = 'header' in place ? headerValue(headers, place.header) : undefined
      if (value !== undefined) this.#given(place.kind, value)
    }
    // Each place has a reader, because the events of a stream may contain the ids one by one.
    this.#readers = this.#places.map(({ kind, path }) => ({
      kind,
      body: createAnswerReader([path], isEvents(headers)),
    }))
  }

  data(chunk: Uint8Array): void {
    if (this.#readers.length === 0) return
    if (!this.#deps.budget.run('handles', chunk, () => this.#read(chunk))) this.#readers = []
  }

  #read(chunk: Uint8Array): void {
    this.#readers = this.#readers.filter(({ kind, body }) => {
      const isWanted = body.push(chunk)
      const text = body.found.get(0)
      if (text !== undefined) this.#given(kind, text)
      return isWanted && text === undefined
    })
  }

  #given(kind: string, text: string): void {
    const id = this.#deps.reader.read(kind, text)
    if (id !== null) noteGiven(this.#exchange, { kind, id }, this.#deps)
  }
}

/** Maximum number of handles in a record. */
const MAX_GIVEN = 8

/**
 * Records the agent of the exchange as the owner of the handle. An id that the request itself named keeps its owner.
 */
function noteGiven(exchange: Journaled, handle: Handle, { handles, connector, agent }: Deps): void {
  const key = handles.keyOf(connector, handle)
  const given = exchange.given ?? []
  const isNamed = exchange.evaluation.namedHandles?.includes(key) === true
  if (isNamed || given.length >= MAX_GIVEN || given.some(({ hash }) => hash === key)) return
  handles.give(key, agent)
  exchange.given = [...given, { kind: handle.kind, hash: key }]
}

export function isEvents(headers: RawHeaders): boolean {
  const [type = ''] = (headerValue(headers, 'content-type') ?? '').split(';')
  return type.trim().toLowerCase() === 'text/event-stream'
}
