import type { AuthScheme, Connector } from '../../../core/connectors/connector.ts'
import { careOfBody, stripBodyFields, stripCredentials } from '../../../core/connectors/credentials.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { ConnectorEntry } from '../../../core/wire/sync.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { refuseReading } from '../refuse.ts'

/** Takes the agent's own credentials out and puts ours in. No other stage touches a secret. */
export const credential: Stage = {
  name: 'credential',
  run(exchange) {
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
    return stripBody(exchange, bound, request)
  },
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

function stripBody(
  exchange: Exchange,
  { connector }: BoundConnector,
  request: CanonicalRequest,
): StageResult | Promise<StageResult> {
  if (exchange.body.isEmpty) return 'continue'
  const care = careOfBody(request, connector)
  if (care.kind === 'stream') return 'continue'
  return care.kind === 'refusal' ? refuseReading(exchange, care) : readBody(exchange, connector, care.limit)
}

async function readBody(exchange: Exchange, { carriers }: Connector, limit: number): Promise<StageResult> {
  const bytes = exchange.bodyBytes ?? (await exchange.body.buffer(limit))
  if (bytes === null) {
    const detail = `The body may carry a credential, so the gateway reads it; it may have at most ${limit} bytes.`
    return refuseReading(exchange, { code: 'body_too_large', detail })
  }
  const contentType = headerValue(exchange.raw.rawHeaders, 'content-type')
  const stripped = stripBodyFields(bytes, contentType, carriers.bodyFields)
  if (isRefusal(stripped)) return refuseReading(exchange, stripped)
  exchange.bodyBytes = stripped.removed ? Buffer.from(stripped.bytes) : bytes
  return 'continue'
}
