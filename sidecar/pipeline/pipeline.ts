import type { Upstream } from '../upstream/http.ts'
import { type BodyBudgetOptions, createBodyBudget } from './body/body-budget.ts'
import { createInflateBudget } from './body/inflate-budget.ts'
import { createConcurrency } from './concurrency.ts'
import type { Exchange, InnerExchanges, Stage } from './exchange.ts'
import { createAnswer } from './gateway-host/answer-agent.ts'
import { killedBy } from './kill-switch.ts'
import { createPacer } from './pacer.ts'
import type { PipelinePorts } from './ports.ts'
import { buildRecord } from './record/record.ts'
import { isEventful } from './record/record-audit.ts'
import { createRecordBytes } from './record/record-bytes.ts'
import { encodeRecord } from './record/record-json.ts'
import { refuseFailure, refuseKilled } from './refusal/refuse.ts'
import { createStageClock, type StageClock } from './stage-clock.ts'
import { createStageRunner } from './stage-runner.ts'
import { createClassify } from './stages/classify.ts'
import { createCredential } from './stages/credential.ts'
import { createDecide } from './stages/decide.ts'
import { createEvaluations } from './stages/evaluate.ts'
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
  const runner = createStageRunner({ pacer, clock })
  const killGuard = createKillGuard(ports)
  const { evaluate, renew } = createEvaluations(runner, {
    entering: [createRefresh(ports), killGuard, route],
    naming: [
      createClassify({ ports, pacer, budget, inflateBudget }),
      createLookUp(ports),
      createDecide(ports),
      createHandles(ports),
    ],
  })
  const clearing = [
    createOverride(ports, budget),
    createHold(ports, { budget, pacer }, { evaluate, renew }),
    createCredential(ports, budget),
  ] as const
  const clear = (exchange: Exchange) => runner.run(clearing, exchange)
  const renewing = createRenew(ports, { evaluate: renew, clear })
  const sending = [createIntent(ports), createForward(ports, { upstream, pacer, budget, renewing })] as const
  const stages: readonly Stage[] = [
    createIdentify(ports),
    normalise,
    killGuard,
    // `route` runs before the guards, so that refusals of hosts that no connector owns do not count against the rate
    // limit of the agent.
    route,
    createGuards(ports, concurrency),
    createAnswer({ ports, pacer }),
    { name: 'evaluate', isQuick: true, run: evaluate },
    { name: 'clear', isQuick: true, run: clear },
    renewing,
    ...sending,
  ]
  const ofGateway = [...systemStages(ports), createCredential(ports, budget), ...sending]

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
    exchange.afterRecord = ports.journal.afterWrite
    exchange.inner = inner
    try {
      const result = runner.run(exchange.system === undefined ? stages : ofGateway, exchange)
      if (result instanceof Promise) await result
      if (!exchange.reply.isStarted) throw new Error('no stage answered the exchange')
    } catch (error) {
      endFailed(exchange, error)
    } finally {
      clock.leave()
      unregister()
      isOver()
      concurrency.release(exchange)
      budget.release(exchange)
      finish(exchange, ports, recordBytes)
    }
  }
}

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

function finish(exchange: Exchange, ports: PipelinePorts, bytesOf: (json: Uint8Array) => Buffer): void {
  const kill = killedBy(exchange)
  if (kill !== null && exchange.outcome.denyReason === null) {
    exchange.outcome.note = 'aborted by a kill switch'
    exchange.outcome.reason = 'kill_switch'
  }
  if (ports.refusals.finished(exchange)) return
  if (isEventful(exchange)) exchange.actId ??= ports.newId('actionRequest')
  const record = buildRecord(exchange, ports)
  const json = bytesOf(encodeRecord(record))
  ports.events.finished(exchange, record, json)
  ports.journal.result(record, json, exchange.intent)
}
