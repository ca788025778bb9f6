import type { Connector } from '../../../core/connectors/connector.ts'
import { careOfBody, stripBodyFields } from '../../../core/connectors/credentials.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { BodyBudget } from '../body-budget.ts'
import { createEchoMask } from '../echo-mask.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { outgoingOf } from '../outgoing.ts'
import { refuseReading } from '../refuse.ts'

/** Takes the agent's own credentials out and puts ours in. No other stage touches a secret. */
export function createCredential(budget: BodyBudget): Stage {
  return {
    name: 'credential',
    run: (exchange) => replaceCredentials(exchange, budget),
  }
}

function replaceCredentials(exchange: Exchange, budget: BodyBudget): StageResult | Promise<StageResult> {
  const { connector: bound, request, kind } = exchange
  if (kind === 'tunnel' || request === undefined) return 'continue'
  if (bound === undefined) {
    exchange.outbound = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
    return 'continue'
  }
  const { edit, injected, ownPasses } = outgoingOf(exchange, bound, request)
  exchange.outbound = edit
  if (ownPasses) return 'continue'
  if (injected !== null) {
    bound.connector.injectCredentials(edit, injected.secret, injected.scheme, request)
    exchange.echoMask = createEchoMask({
      ...injected,
      hasBodies: bound.entry.scrubResponses === true,
      onMasked() {
        exchange.outcome.isEchoMasked = true
      },
    })
  }
  return stripBody(exchange, { bound, request, budget })
}

type Stripping = {
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  readonly budget: BodyBudget
}

function stripBody(
  exchange: Exchange,
  { bound, request, budget }: Stripping,
): StageResult | Promise<StageResult> {
  if (exchange.body.isEmpty) return 'continue'
  const care = careOfBody(request, bound.connector)
  if (care.kind === 'stream') return 'continue'
  if (care.kind === 'refusal') return refuseReading(exchange, care)
  const { bodyBytes } = exchange
  if (bodyBytes !== undefined) return stripBytes(exchange, bound.connector, bodyBytes)
  return readBody(exchange, { bound, request, budget }, care.limit)
}

async function readBody(
  exchange: Exchange,
  { bound, budget }: Stripping,
  limit: number,
): Promise<StageResult> {
  const bytes = await budget.read(exchange, limit)
  if (bytes !== null) return stripBytes(exchange, bound.connector, bytes)
  const detail = `The body may carry a credential, so the gateway reads it; it may have at most ${limit} bytes.`
  return refuseReading(exchange, { code: 'body_too_large', detail })
}

function stripBytes(exchange: Exchange, { carriers }: Connector, bytes: Buffer): StageResult {
  const contentType = headerValue(exchange.raw.rawHeaders, 'content-type')
  const stripped = stripBodyFields(bytes, contentType, carriers.bodyFields)
  if (isRefusal(stripped)) return refuseReading(exchange, stripped)
  exchange.bodyBytes = stripped.removed ? Buffer.from(stripped.bytes) : bytes
  return 'continue'
}
