import { bodyStripping, stripBodyFields } from '../../../core/connectors/credentials/credentials.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Exchange } from '../exchange.ts'
import { passesAgentCredential } from '../outgoing.ts'

/**
 * Removes the fields that carry the agent's own credential from a body that was just read. The action is therefore
 * classified, decided, bound and shown without these fields. Returns the body unchanged in three cases: the body has no
 * such fields, the gateway does not search it (an uploaded file), or the stage `credential` will refuse it because the
 * gateway cannot check it for credentials.
 */
export function withoutAgentCredential(exchange: Exchange, bytes: Buffer): Buffer {
  const { connector: bound, snapshot, request, raw } = exchange
  if (bound === undefined || snapshot === undefined || request === undefined) return bytes
  const { bodyFields } = bound.connector.carriers
  if (bodyFields.length === 0 || passesAgentCredential({ snapshot }, bound)) return bytes
  if (bodyStripping(request, bound.connector).kind !== 'read') return bytes
  const stripped = stripBodyFields(bytes, headerValue(raw.rawHeaders, 'content-type'), bodyFields)
  return isRefusal(stripped) || !stripped.removed ? bytes : Buffer.from(stripped.bytes)
}
