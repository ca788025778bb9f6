import type { Upstream } from '../upstream/http.ts'
import { type BodyBudgetOptions, createBodyBudget } from './body/body-budget.ts'
import { createInflateBudget } from './body/inflate-budget.ts'
import { createConcurrency } from './concurrency.ts'
import type { Exchange, InnerExchanges, Stage, StageResult } from './exchange.ts'
import { killedBy } from './kill-switch.ts'
import { createPacer, type Pacer } from './pacer.ts'
import type { PipelinePorts } from './ports.ts'
import { buildRecord } from './record/record.ts'
import { isEventful } from './record/record-audit.ts'
import { createRecordBytes } from './record/record-bytes.ts'
import { recordJson } from './record/record-json.ts'
import { refuseFailure, refuseKilled } from './refusal/refuse.ts'
import { createStageClock, type StageClock } from './stage-clock.ts'
import { createClassify } from './stages/classify.ts'
import { createCredential } from './stages/credential.ts'
import { createDecide } from './stages/decide.ts'
import { createForward } from './stages/forward.ts'
import { createGuards, createKillGuard } from './stages/guards.ts'
import { createHandles } from './stages/handles.ts'
import { createHold } from './stages/hold.ts'
import { createIdentify, createRefresh } from './stages/identify.ts'
import { createIntent } from './stages/intent.ts'
import { createLookUp } from './stages/look-up.ts'
import { normalise } from './stages/normalise.ts'
import { createOverride } from './stages/override.ts'
import { createRenew } from './stages/renew.ts'
import { route } from './stages/route.ts'
import { systemStages } from './stages/system.ts'

export type PipelineOptions = {
  readonly clock?: StageClock
  readonly bodyBudget?: Omit<BodyBudgetOptions, 'pacer'>
}

const BODY_BUDGET_BYTES = 256 * 1024 * 1024

/**
 * Creates the pipeline, which runs the stages of one exchange. Each stage continues or responds. An error of a stage
 * becomes a refusal; after an error before `forward` no request reaches an upstream. Exactly one record is written for
 * each exchange. The promise never rejects.
 */
export function createPipeline(
  ports: PipelinePorts,
  upstream: Upstream,
  options: PipelineOptions = {},
): (exchange: Exchange) => Promise<void> {
  const clock = options.clock ?? createStageClock(ports.clock.monotonicMs)
  const concurrency = createConcurrency()
  const pacer = createPacer(clock)
  const budget = createBodyBudget({ pacer, ...(options.bodyBudget ?? { totalBytes: BODY_BUDGET_BYTES }) })
  const inflateBudget = createInflateBudget(ports.clock.monotonicMs)
  const recordBytes = createRecordBytes()
  const killGuard = createKillGuard(ports)
  const classification = [
    createClassify({ ports, pacer, budget, inflateBudget }),
    createLookUp(ports),
    createDecide(ports),
  ] as const
  const again = [createRefresh(ports), killGuard, route, ...classification] as const
  const cleared = [
    createOverride(ports, budget),
    createHold(ports, { budget, pacer }, { name: classification, recheck: again }),
    createCredential(budget),
  ] as const
  const sending = [createIntent(ports), createForward(ports, { upstream, pacer, budget })] as const
  const stages: readonly Stage[] = [
    createIdentify(ports),
    normalise,
    killGuard,
    // `route` runs before the guards, so that refusals of hosts that no connector owns do not count against the rate
    // limit of the agent.
    route,
    createGuards(ports, concurrency),
    ...classification,
    createHandles(ports),
    ...cleared,
    createRenew(ports, [...again, ...cleared]),
    ...sending,
  ]
  const ofGateway = [...systemStages(ports), createCredential(budget), ...sending]

  const inner: InnerExchanges = {
    run: handle,
    newRequestId: () => ports.newId('request'),
    clock: ports.clock,
    room: budget.messages,
    runSliced: pacer.run,
  }
  return handle

  async function handle(exchange: Exchange): Promise<void> {
    const unregister = ports.live.add(exchange)
    const isOver = ports.events.accepted(exchange)
    exchange.assignRecord = ports.refusals.assign
    exchange.inner = inner
    try {
      const list = exchange.system === undefined ? stages : ofGateway
      const run = new Run(list, exchange, { pacer, clock })
      for (let wait = run.advance(); wait !== null && (await wait) !== 'responded'; ) wait = run.advance()
      if (!exchange.reply.isStarted) throw new Error('no stage answered the exchange')
    } catch (error) {
      endFailed(exchange, error)
    } finally {
      unregister()
      isOver()
      concurrency.release(exchange)
      budget.release(exchange)
      finish(exchange, ports, recordBytes)
    }
  }
}

/**
 * Progress of an exchange through the stages. Synchronous stages run without a promise, and most requests need no
 * promise before `intent`.
 */
class Run {
  readonly #stages: readonly Stage[]
  readonly #exchange: Exchange
  readonly #loop: LoopShare
  #at = 0
  /** True when the exchange already waited for its turn to run the next stage. */
  #hasTurn = false

  constructor(stages: readonly Stage[], exchange: Exchange, loop: LoopShare) {
    this.#stages = stages
    this.#exchange = exchange
    this.#loop = loop
  }

  /**
   * Runs stages until one returns a promise, and returns that promise. Returns null when a stage has responded or all
   * stages have run.
   */
  advance(): Promise<StageResult | undefined> | null {
    try {
      while (this.#at < this.#stages.length) {
        const result = this.#takeTurn() ?? this.#runNext()
        if (result === 'responded') return null
        if (result instanceof Promise) return result
      }
      return null
    } finally {
      this.#loop.clock.leave()
    }
  }

  /**
   * Returns the promise of a turn before each stage of an exchange with a large body, so that other requests run in
   * between.
   */
  #takeTurn(): Promise<undefined> | null {
    const turn = this.#hasTurn ? null : this.#loop.pacer.turnForBody(this.#exchange)
    this.#hasTurn = turn !== null
    return turn
  }

  #runNext(): ReturnType<Stage['run']> {
    const exchange = this.#exchange
    if (this.#at > 0) exchange.abort.signal.throwIfAborted()
    const stage = this.#stages[this.#at++]
    if (stage === undefined) return 'continue'
    exchange.stage = stage.name
    this.#loop.clock.enter(stage.name)
    return stage.run(exchange)
  }
}

type LoopShare = { readonly pacer: Pacer; readonly clock: StageClock }

function endFailed(exchange: Exchange, error: unknown): void {
  const { abort, outcome, reply } = exchange
  const kill = killedBy(exchange)
  if (reply.isStarted) outcome.note ??= 'cut'
  else if (kill !== null) refuseKilled(exchange, kill)
  else if (abort.signal.aborted) {
    outcome.note ??= 'the agent disconnected'
    reply.events?.cut()
  } else refuseFailure(exchange, error)
}

function finish(exchange: Exchange, ports: PipelinePorts, bytesOf: (json: string) => Buffer): void {
  const kill = killedBy(exchange)
  if (kill !== null && exchange.outcome.denyReason === null) {
    exchange.outcome.note = 'aborted by a kill switch'
    exchange.outcome.reason = 'kill_switch'
  }
  if (ports.refusals.finished(exchange)) return
  if (isEventful(exchange)) exchange.actId ??= ports.newId('actionRequest')
  const record = buildRecord(exchange, ports)
  const json = bytesOf(recordJson(record))
  ports.events.finished(exchange, record, json)
  ports.journal.result(record, json, exchange.intent)
}
