import type { AuthScheme, Connector } from '../../../core/connectors/connector.ts'
import { careOfBody, stripBodyFields, stripCredentials } from '../../../core/connectors/credentials.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { ConnectorEntry } from '../../../core/wire/sync.ts'
import type { BodyBudget } from '../body-budget.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { refuseReading } from '../refuse.ts'

/** Takes the agent's own credentials out and puts ours in. No other stage touches a secret. */
export function createCredential(budget: BodyBudget): Stage {
  return {
    name: 'credential',
    run: (exchange) => replaceCredentials(exchange, budget),
  }
}

function replaceCredentials(exchange: Exchange, budget: BodyBudget): StageResult | Promise<StageResult> {
  const { connector: bound, request, kind, snapshot } = exchange
  if (kind === 'tunnel' || request === undefined) return 'continue'
  const edit = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
  exchange.outbound = edit
  if (bound === undefined) return 'continue'
  const { secret } = bound.entry
  const scheme = schemeOf(bound)
  const ownPasses = snapshot?.gateway.level === 'monitor' && secret === null && scheme.type !== 'none'
  if (ownPasses) return 'continue'
  stripCredentials(edit, bound.connector)
  if (secret !== null && scheme.type !== 'none')
    bound.connector.injectCredentials(edit, secret, scheme, request)
  return stripBody(exchange, { bound, request, budget })
}

/** What the connector says, completed by its type's default. */
function schemeOf({ entry, connector }: BoundConnector): AuthScheme {
  const { type, header, username } = entry.auth
  if (type === 'header') {
    const fallback = connector.defaultAuth.type === 'header' ? connector.defaultAuth.header : 'Authorization'
    return { type, header: header ?? fallback }
  }
  return type === 'basic' && username !== undefined ? { type, username } : plain(type)
}

function plain(type: Exclude<ConnectorEntry['auth']['type'], 'header'>): AuthScheme {
  return { type }
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
