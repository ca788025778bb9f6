import type { Action } from '../../../core/action/action.ts'
import { classify, decidingKeys, needsBody } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { decideCandidates } from '../../../core/decision/decide.ts'
import { parseBody } from '../../../core/request/body.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import { areAskedFor, hasReadableBody, judgeHiddenFacts, needsBodyFacts } from '../body-facts.ts'
import { decisionInputs } from '../deciding.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuseReading } from '../refuse.ts'

/**
 * Names what the request does. The body is read only where the verdict depends on it: when every class that it could
 * be gets the same verdict, it streams.
 */
export function createClassify(ports: PipelinePorts): Stage {
  return {
    name: 'classify',
    run(exchange) {
      const { connector, request } = exchange
      return connector === undefined || request === undefined
        ? 'continue'
        : name(exchange, connector, request, ports)
    },
  }
}

function name(
  exchange: Exchange,
  bound: BoundConnector,
  request: CanonicalRequest,
  ports: PipelinePorts,
): StageResult | Promise<StageResult> {
  if (exchange.bodyBytes !== undefined) return readAndClassify(exchange, bound, request)
  // Where there is no body, nothing is left that it could decide.
  const first = classify(bound, request)
  const named =
    first.kind === 'candidates' && exchange.body.isEmpty
      ? classify(bound, request, { kind: 'absent' })
      : first
  if (isRefusal(named)) {
    // Some requests are nothing without their body (MCP, GraphQL); the rest is refused as it stands.
    return needsBody(bound, request)
      ? readAndClassify(exchange, bound, request)
      : refuseReading(exchange, named)
  }
  const hidden = hiddenFrom(exchange, named)
  if (hidden !== null) return refuseReading(exchange, hidden)
  const isEnough =
    named.kind === 'actions'
      ? takeActions(exchange, named.actions)
      : takeCandidates(exchange, named.candidates, ports)
  return isEnough ? 'continue' : readAndClassify(exchange, bound, request)
}

/** A policy asks for what stands in the body, and the body is in no format that we can read. */
function hiddenFrom(exchange: Exchange, named: Exclude<Classification, Refusal>): Refusal | null {
  if (exchange.body.isEmpty || hasReadableBody(exchange)) return null
  const actions = named.kind === 'actions' ? named.actions : named.candidates
  return areAskedFor(exchange, actions) ? judgeHiddenFacts(exchange) : null
}

/** False when a policy asks for what only the body can tell. */
function takeActions(exchange: Exchange, actions: readonly Action[]): boolean {
  if (needsBodyFacts(exchange, actions)) return false
  exchange.actions = actions
  return true
}

/** False as above, and when the candidates get different verdicts, so that the body has to say which one it is. */
function takeCandidates(exchange: Exchange, candidates: readonly Action[], ports: PipelinePorts): boolean {
  if (needsBodyFacts(exchange, candidates)) return false
  const { rules, inputs } = decisionInputs(exchange, candidates, ports.clock.nowMs())
  const decision = decideCandidates(rules, inputs)
  if (decision === 'split') return false
  exchange.decision = decision
  exchange.isCandidateSet = true
  exchange.actions = candidates
  return true
}

async function readAndClassify(
  exchange: Exchange,
  bound: BoundConnector,
  request: CanonicalRequest,
): Promise<StageResult> {
  const bytes = exchange.bodyBytes ?? (await exchange.body.buffer(LIMITS.decidingBodyBytes))
  if (bytes === null) {
    const detail = `The class of this request depends on its body, which may have at most ${LIMITS.decidingBodyBytes} bytes.`
    return refuseReading(exchange, { code: 'body_too_large', detail })
  }
  exchange.bodyBytes = bytes
  const view = parseBody(bytes, request.body, decidingKeys(bound, request))
  return settle(exchange, isRefusal(view) ? view : classify(bound, request, view))
}

function settle(exchange: Exchange, named: Classification): StageResult {
  if (isRefusal(named)) return refuseReading(exchange, named)
  exchange.actions = named.kind === 'actions' ? named.actions : named.candidates
  return 'continue'
}
