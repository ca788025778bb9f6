import { overridableBody, overriddenActions } from '../../../core/connectors/classify.ts'
import { judgeBodyOverride } from '../../../core/request/method-override.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { decideProvisional } from '../classification/exchange-decision.ts'
import type { ProvisionalClassification } from '../classification/provisional-classification.ts'
import type { Decided, Evaluated, Received } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuseReading } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'

/**
 * Creates the stage that refuses a POST whose body makes the server use a method other than the one for which the
 * decision was made. Forms are always read. A JSON body that is not in memory is read only if another method would get
 * another decision. A body above the read limit is refused if another method would get another decision, and is
 * otherwise forwarded unread.
 */
export function createOverride(ports: PipelinePorts, reader: BodyReader): Stage<Evaluated, Evaluated> {
  return {
    name: 'override',
    isQuick: true,
    run(exchange) {
      if (exchange.connector === undefined || exchange.body.isEmpty) return exchange
      if (exchange.connector.connector.overridable === undefined) return exchange
      const format = overridableBody(exchange.connector, exchange.request)
      if (format === null) return exchange
      const mayStream = format === 'json' && exchange.bodyBytes === undefined && !isSplit(exchange, ports)
      return mayStream ? exchange : judge(exchange, ports, reader)
    },
  }
}

const MAX_READ = LIMITS.heldBodyBytes

async function judge(
  exchange: Decided,
  ports: PipelinePorts,
  reader: BodyReader,
): Promise<StageResult<Decided>> {
  const bytes = await reader.read(exchange, MAX_READ)
  if (bytes === null) return isSplit(exchange, ports) ? refuseLong(exchange) : exchange
  const wrong = judgeBodyOverride(bytes, exchange.request)
  return wrong === null ? exchange : refuseReading(exchange, wrong)
}

function refuseLong(exchange: Received): 'responded' {
  const detail = `The body of this request may replace its method, so the gateway must read the body, but the body is longer than ${MAX_READ} bytes. If the body is a file, send it with the Content-Type of the file.`
  return refuseReading(exchange, { code: 'body_too_large', detail })
}

const others = new WeakMap<ProvisionalClassification, ProvisionalClassification | null>()

/** Returns true when another method would get another decision. */
function isSplit(exchange: Decided, ports: PipelinePorts): boolean {
  const provisional = exchange.provisional
  if (provisional === undefined) return true
  let all = others.get(provisional)
  if (all === undefined) {
    all = withOthers(exchange, provisional)
    others.set(provisional, all)
  }
  return all === null || decideProvisional(exchange, all, ports.clock.nowMs()) === 'split'
}

/** Returns the classification with the actions of all methods that the server could use instead. */
function withOthers(
  { connector: bound, request }: Decided,
  provisional: ProvisionalClassification,
): ProvisionalClassification | null {
  const more = overriddenActions(bound, request)
  return more === null
    ? null
    : {
        ...provisional,
        named: { kind: 'candidates', candidates: [...provisional.actions, ...more] },
        cached: null,
      }
}
