import type { Upstream } from '../upstream/http.ts'
import { type BodyReaderOptions, createBodyReader } from './body/body-reader.ts'
import type { Exchange, ExchangeServices } from './exchange.ts'
import { killedBy } from './exchange-abort.ts'
import type { InnerExchanges } from './inner-exchanges.ts'
import { createPacer } from './pacer.ts'
import {
  type HasRecordId,
  identifyRecord,
  type Received,
  type Recorded,
  setRecorded,
  setServices,
} from './phases.ts'
import type { PipelinePorts } from './ports.ts'
import { buildRecord } from './record/record.ts'
import { isEventful } from './record/record-audit.ts'
import { encodeRecord } from './record/record-json.ts'
import { refuseFailure, refuseKilled } from './refusal/refuse.ts'
import { createRequestStages } from './request-stages.ts'
import { createStageClock, createStageRunner, type StageClock } from './stage-runner.ts'
import { createConcurrency } from './stages/guards.ts'

export type PipelineOptions = {
  readonly clock?: StageClock
  readonly bodyBudget?: Omit<BodyReaderOptions, 'pacer'>
}

const BODY_BUDGET_BYTES = 256 * 1024 * 1024

/**
 * Creates the pipeline, which runs the stages of one exchange (`request-stages.ts`). An error of a stage
 * becomes a refusal; after an error before `forward` no request reaches an upstream. Exactly one record is written for
 * each exchange. The promise never rejects.
 */
export function createPipeline(
  ports: PipelinePorts,
  upstream: Upstream,
  options: PipelineOptions = {},
): (exchange: Exchange) => Promise<Recorded> {
  const clock = options.clock ?? createStageClock(ports.clock.monotonicMs)
  const concurrency = createConcurrency()
  const pacer = createPacer(clock)
  const reader = createBodyReader({ pacer, ...(options.bodyBudget ?? { totalBytes: BODY_BUDGET_BYTES }) })
  const runner = createStageRunner({ pacer, clock })
  const run = createRequestStages({ ports, upstream, runner, pacer, reader, concurrency })
  const inner: InnerExchanges = {
    run: handle,
    newRequestId: () => ports.newId('request'),
    clock: ports.clock,
    room: reader.messages,
    runSliced: pacer.run,
  }
  const services: ExchangeServices = {
    assignRecord: ports.refusals.assign,
    afterRecord: ports.journal.afterWrite,
    inner,
  }
  return handle

  async function handle(arrived: Exchange): Promise<Recorded> {
    let recorded: Recorded
    const exchange = setServices(arrived, services)
    const unregister = ports.live.add(exchange)
    const isOver = ports.events.accepted(exchange)
    try {
      const result = run(exchange)
      if (result instanceof Promise) await result
      if (!exchange.reply.isStarted) throw new Error('no stage answered the exchange')
    } catch (error) {
      endFailed(exchange, error)
    } finally {
      clock.leave()
      unregister()
      isOver()
      concurrency.release(exchange)
      reader.release(exchange)
      recorded = recordResult(exchange, ports)
    }
    return recorded
  }
}

function endFailed(exchange: Received, error: unknown): void {
  const { abort, outcome, reply } = exchange
  const kill = killedBy(exchange)
  if (reply.isStarted) outcome.note ??= 'cut'
  else if (kill !== null) refuseKilled(exchange, kill)
  else if (abort.signal.aborted) {
    outcome.note ??= 'the agent disconnected'
    reply.events?.cut()
  } else refuseFailure(exchange, error)
}

/** Records the result of an exchange: in its own record, which closes its intent, or in an aggregate record. */
function recordResult(exchange: Received, ports: PipelinePorts): Recorded {
  const kill = killedBy(exchange)
  if (kill !== null && exchange.outcome.denyReason === null) {
    exchange.outcome.note = 'aborted by a kill switch'
    exchange.outcome.reason = 'kill_switch'
  }
  const isCounted = ports.refusals.finished(exchange)
  const identified = identifyRecord(exchange, ports)
  if (!isCounted) recordAlone(identified, ports)
  return setRecorded(identified)
}

function recordAlone(exchange: Exchange & HasRecordId, ports: PipelinePorts): void {
  if (isEventful(exchange)) exchange.actId ??= ports.newId('actionRequest')
  const record = buildRecord(exchange, ports)
  const json = encodeRecord(record)
  ports.events.finished(exchange, record, json)
  ports.journal.result(record, json, exchange.intent)
}
