import { createAnswerReader } from '../../../core/connectors/handles/answer-reader.ts'
import type { MemberReader } from '../../../core/connectors/handles/member-reader.ts'
import { startedWork, startOf } from '../../../core/connectors/hosted-work/started-work.ts'
import type { HostedWork, WorkEnd, WorkStart } from '../../../core/connectors/hosted-work/table.ts'
import type { CanonicalRequest, RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Journaled } from '../phases.ts'
import type { HostedWorkPort } from '../ports.ts'
import { type AnswerBudget, answerBudgetOf, type BudgetClock } from './answer-budget.ts'
import { isEvents } from './handle-watch.ts'
import type { ResponseStage } from './response-stage.ts'

type WorkWatch = Required<Pick<ResponseStage, 'readsBody' | 'data' | 'end' | 'over'>> & {
  head(status: number, headers: RawHeaders): void
}

/** Returns a watch that records hosted work that the provider starts or ends; null when the request does neither. */
export function workWatchOf(exchange: Journaled, port: HostedWorkPort, clock: BudgetClock): WorkWatch | null {
  const { connector, agent, request, actions = [], system } = exchange
  const work = connector?.connector.hostedWork
  if (work === undefined || connector === undefined || agent === undefined || system !== undefined)
    return null
  const start = startOf(work, actions)
  if (start !== null) {
    return new StartWatch(work, start, {
      request,
      budget: answerBudgetOf(exchange, clock),
      isStarted: (started) => port.started(connector, agent, started),
      isEnded: (ids) => port.ended(connector, agent, { kind: start.kind.kind, ids }),
      isUnidentified: port.unidentified,
    })
  }
  for (const action of actions) {
    const end = work.ends.get(action.type)
    if (end === undefined) continue
    const ids = [...request.segments.map(withoutVerb), ...textsOf(action.parameters)]
    const budget = answerBudgetOf(exchange, clock)
    const isEnded = () => port.ended(connector, agent, { kind: end.kind, ids })
    return new EndWatch(end, work, { budget, isEnded })
  }
  return null
}

/** Records hosted work in response messages of a WebSocket, each of which is a JSON text. */
export function watchMessageWork(exchange: Journaled, port: HostedWorkPort, clock: BudgetClock): void {
  const watch = workWatchOf(exchange, port, clock)
  if (watch === null) return
  const others = exchange.onAnswerMessage
  exchange.onAnswerMessage = (head) => {
    others?.(head)
    watch.head(200, [])
    watch.data(Buffer.from(head))
  }
}

type Notes = {
  readonly request: CanonicalRequest
  readonly budget: AnswerBudget
  readonly isStarted: (work: NonNullable<ReturnType<typeof startedWork>>) => void
  readonly isEnded: (ids: readonly string[]) => void
  readonly isUnidentified: () => void
}

class StartWatch implements WorkWatch {
  readonly readsBody = true
  readonly #work: HostedWork
  readonly #start: WorkStart
  readonly #notes: Notes
  /** Paths of the ids in the body of the response. `index` is the index of the id in `WorkStart.ids`. */
  readonly #members: ReadonlyArray<{ readonly index: number; readonly path: readonly string[] }>
  readonly #texts: (string | undefined)[]
  #body: MemberReader | null = null
  #isStream = false
  #status: number | null = null
  #wasRefused = false
  #id: string | null = null

  constructor(work: HostedWork, start: WorkStart, notes: Notes) {
    this.#work = work
    this.#start = start
    this.#notes = notes
    this.#texts = start.ids.map(({ at }) =>
      at.kind === 'segment' ? segmentAfter(notes.request, at.name) : undefined,
    )
    this.#members = start.ids.flatMap(({ at }, index) =>
      at.kind === 'member' ? [{ index, path: at.path }] : [],
    )
  }

  head(status: number, headers: RawHeaders): void {
    this.#status = status
    if (!isSuccess(status)) return
    for (const [index, { at }] of this.#start.ids.entries())
      if (at.kind === 'header') this.#texts[index] = headerValue(headers, at.name)
    if (this.#members.length === 0) {
      this.#started()
      return
    }
    this.#isStream = isEvents(headers)
    const { errorMember } = this.#work
    const paths = this.#members.map(({ path }) => path)
    const all = errorMember === null ? paths : [...paths, errorMember.split('.')]
    this.#body = createAnswerReader(all, this.#isStream)
  }

  data(chunk: Uint8Array): void {
    const body = this.#body
    if (body === null) return
    if (!this.#notes.budget.run('hosted work', chunk, () => this.#read(body, chunk))) this.#body = null
  }

  #read(body: MemberReader, chunk: Uint8Array): void {
    const isWanted = body.push(chunk)
    const isFound = this.#members.every((_member, at) => body.found.has(at))
    if (!isWanted || isFound) this.#body = null
    if (isFound) this.#found(body.found)
    else if (body.found.has(this.#members.length)) this.#wasRefused = true
  }

  /**
   * Called when the response has ended. Reports the end of the work for an event stream that lasts as long as the work.
   */
  end(): void {
    if (this.#isStream && this.#id !== null && this.#work.endsWithStream !== false)
      this.#notes.isEnded([this.#id])
  }

  over(isCut: boolean): void {
    const mayHaveStarted = this.#status === null ? isCut : isSuccess(this.#status) && !this.#wasRefused
    if (this.#id === null && mayHaveStarted) this.#notes.isUnidentified()
  }

  #found(found: ReadonlyMap<number, string>): void {
    for (const [at, { index }] of this.#members.entries()) this.#texts[index] = found.get(at)
    this.#started()
  }

  #started(): void {
    const given = { request: this.#notes.request, texts: this.#texts }
    const started = startedWork(this.#work, this.#start, given)
    if (started === null) return
    this.#id = started.ids['id'] ?? null
    this.#notes.isStarted(started)
  }
}

function segmentAfter({ segments }: CanonicalRequest, name: string): string | undefined {
  const at = segments.indexOf(name)
  return at === -1 ? undefined : segments[at + 1]
}

type EndDeps = { readonly budget: AnswerBudget; readonly isEnded: () => void }

class EndWatch implements WorkWatch {
  readonly readsBody = true
  readonly #end: WorkEnd
  /** Member of the response that shows the end: the state of the work, or its result. Null if there is none. */
  readonly #shown: readonly string[] | null
  /** Member of the response that means a failure. Null if there is none. */
  readonly #error: readonly string[] | null
  readonly #deps: EndDeps
  #body: MemberReader | null = null
  #isOk = false

  constructor(end: WorkEnd, { errorMember, statusPath = ['status'] }: HostedWork, deps: EndDeps) {
    this.#end = end
    this.#shown = end.states === null ? (end.member ?? null) : statusPath
    this.#error = end.states === null ? (errorMember?.split('.') ?? null) : null
    this.#deps = deps
  }

  head(status: number, headers: RawHeaders): void {
    // 202 means that the server has not done yet what the response would show.
    this.#isOk = isSuccess(status) && !(status === 202 && this.#shown !== null)
    const paths = [this.#shown, this.#error].filter((path) => path !== null)
    if (this.#isOk && paths.length > 0) this.#body = createAnswerReader(paths, isEvents(headers))
  }

  data(chunk: Uint8Array): void {
    const body = this.#body
    if (body === null || this.#deps.budget.run('hosted work', chunk, () => body.push(chunk))) return
    // The work counts as not ended, so that a kill switch still cancels it.
    this.#isOk = false
    this.#body = null
  }

  end(): void {
    const found = this.#body?.found
    const text = this.#shown === null ? '' : found?.get(0)
    const isFailed = this.#error !== null && found?.has(this.#shown === null ? 0 : 1) === true
    const isShown = text !== undefined && (this.#end.states?.includes(text) ?? true)
    if (this.#isOk && isShown && !isFailed) this.#deps.isEnded()
  }

  over(): void {}
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Removes the verb from a path segment such as `abc:cancel`. */
function withoutVerb(segment: string): string {
  return segment.split(':')[0] ?? segment
}

function textsOf(parameters: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.values(parameters).filter((value) => typeof value === 'string')
}
