import type { Upstream } from '../upstream/http.ts'
import { createConcurrency } from './concurrency.ts'
import type { Exchange, Stage } from './exchange.ts'
import { killedBy } from './kill.ts'
import type { PipelinePorts } from './ports.ts'
import { buildRecord } from './record.ts'
import { refuseFailure, refuseKilled } from './refuse.ts'
import { createClassify } from './stages/classify.ts'
import { credential } from './stages/credential.ts'
import { createDecide } from './stages/decide.ts'
import { createForward } from './stages/forward.ts'
import { createGuards, createKillGuard } from './stages/guards.ts'
import { createHold } from './stages/hold.ts'
import { createIdentify, createRefresh } from './stages/identify.ts'
import { createIntent } from './stages/intent.ts'
import { normalise } from './stages/normalise.ts'
import { route } from './stages/route.ts'

/**
 * Serves one exchange from its head to its record. A stage continues or has responded; whatever throws is answered
 * as a refusal, and nothing that throws before `forward` can reach an upstream. The record is written exactly once.
 * The promise never rejects.
 */
export function createPipeline(
  ports: PipelinePorts,
  upstream: Upstream,
): (exchange: Exchange) => Promise<void> {
  const concurrency = createConcurrency()
  const killGuard = createKillGuard(ports)
  const naming = [createClassify(ports), createDecide(ports)] as const
  const stages: readonly Stage[] = [
    createIdentify(ports),
    normalise,
    killGuard,
    createGuards(ports, concurrency),
    route,
    ...naming,
    createHold(ports, { name: naming, recheck: [createRefresh(ports), killGuard, route, ...naming] }),
    credential,
    createIntent(ports),
    createForward(upstream),
  ]

  return async (exchange) => {
    const unregister = ports.live.add(exchange)
    try {
      ports.events.accepted(exchange)
      await runStages(stages, exchange)
    } catch (error) {
      endFailed(exchange, error)
    } finally {
      unregister()
      concurrency.release(exchange)
      if (killedBy(exchange) !== null) exchange.actId ??= ports.newId('actionRequest')
      finish(exchange, ports)
    }
  }
}

/** Waits only where a stage really waits: a governed request that needs no body runs to the upstream in one go. */
async function runStages(stages: readonly Stage[], exchange: Exchange): Promise<void> {
  for (const stage of stages) {
    const result = stage.run(exchange)
    const settled = typeof result === 'string' ? result : await result
    if (settled === 'responded') return
    exchange.abort.signal.throwIfAborted()
  }
  throw new Error('no stage answered the exchange')
}

function endFailed(exchange: Exchange, error: unknown): void {
  const { abort, outcome, reply } = exchange
  const kill = killedBy(exchange)
  if (reply.isStarted) outcome.note ??= 'cut'
  else if (kill !== null) refuseKilled(exchange, kill)
  else if (abort.signal.aborted) outcome.note ??= 'the agent left'
  else refuseFailure(exchange, error)
}

function finish(exchange: Exchange, ports: PipelinePorts): void {
  const kill = killedBy(exchange)
  if (kill !== null && exchange.outcome.denyReason === null) {
    exchange.outcome.note = 'stopped by kill switch'
    exchange.outcome.reason = 'kill_switch'
  }
  const record = buildRecord(exchange, ports)
  ports.events.finished(exchange, record)
  ports.journal.result(record)
}
