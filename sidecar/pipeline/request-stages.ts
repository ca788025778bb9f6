import type { Upstream } from '../upstream/http.ts'
import type { BodyReader } from './body/body-reader.ts'
import { createInflateBudget } from './body/inflate-budget.ts'
import { refuseExpired, waitForSecret } from './credentials/minted-secret.ts'
import type { Exchange } from './exchange.ts'
import { createAnswer } from './gateway-host/answer-agent.ts'
import type { Pacer } from './pacer.ts'
import {
  type Cleared,
  type Evaluated,
  type Identified,
  isSystem,
  type Received,
  type SystemCleared,
  type SystemDecided,
} from './phases.ts'
import type { PipelinePorts } from './ports.ts'
import type { Eventual } from './stage.ts'
import type { StageRunner } from './stage-runner.ts'
import { createClassify } from './stages/classify.ts'
import { createCredential } from './stages/credential.ts'
import { createDecide } from './stages/decide.ts'
import { createEvaluations, createRenew } from './stages/evaluate.ts'
import { createForward } from './stages/forward.ts'
import { type Concurrency, createGuards, createKillGuard } from './stages/guards.ts'
import { createHandles } from './stages/handles.ts'
import { createHold } from './stages/hold.ts'
import { createIdentify, createRefresh } from './stages/identify.ts'
import { createIntent } from './stages/intent.ts'
import { createLookUp } from './stages/look-up.ts'
import { createNormalise } from './stages/normalise.ts'
import { createOverride } from './stages/override.ts'
import { route } from './stages/route.ts'
import { systemStages } from './stages/system.ts'

export type RequestStagesDeps = {
  readonly ports: PipelinePorts
  readonly upstream: Upstream
  readonly runner: StageRunner
  readonly pacer: Pacer
  readonly reader: BodyReader
  readonly concurrency: Concurrency
}

/**
 * Creates the stages of requests in their order, for agents and for the gateway itself, and returns the function that
 * runs them. The compiler checks that each stage gets the phase that it needs.
 */
export function createRequestStages({
  ports,
  upstream,
  runner,
  pacer,
  reader,
  concurrency,
}: RequestStagesDeps): (exchange: Received) => Eventual<Exchange> {
  const inflateBudget = createInflateBudget(ports.clock.monotonicMs)
  const killGuard = createKillGuard(ports, reader)
  const evaluation = createEvaluations({
    entering: runner.first(createRefresh(ports)).next(killGuard).next(route),
    deciding: runner
      .first(createClassify({ ports, pacer, reader, inflateBudget }))
      .next(createLookUp(ports))
      .next(createDecide(ports))
      .next(createHandles(ports)),
  })
  const onExpired = (exchange: Evaluated, reason: string) => waitForSecret(exchange, ports, reason)
  const clear = runner
    .first(createOverride(ports, reader))
    .next(createHold(ports, { reader, pacer }, evaluation))
    .next(createCredential<Evaluated, Evaluated>({ ports, reader, onExpired })).run
  const renew = createRenew(ports, { renew: evaluation.renew, clear })
  const forward = createForward(ports, { upstream, pacer, reader, renew })
  const stages = runner
    .first(createIdentify(ports))
    .next(createNormalise<Identified>())
    .next(killGuard)
    // `route` runs before the guards, so that refusals of hosts that no connector owns do not count against the rate
    // limit of the agent.
    .next(route)
    .next(createGuards(ports, concurrency))
    .next(createAnswer({ ports, pacer, reader }))
    .next({ name: 'evaluate', isQuick: true, run: evaluation.evaluate })
    .next({ name: 'clear', isQuick: true, run: clear })
    .next({ name: 'renew', isQuick: true, run: renew })
    .next(createIntent<Cleared>(ports))
    .next(forward)
  const ofGateway = systemStages(ports, { runner, reader })
    .next(createCredential<SystemDecided, never>({ ports, reader, onExpired: refuseExpired }))
    .next(createIntent<SystemCleared>(ports))
    .next(forward)
  return (exchange) => (isSystem(exchange) ? ofGateway.run(exchange) : stages.run(exchange))
}
