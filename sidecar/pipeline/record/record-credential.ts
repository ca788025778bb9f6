import type { RecordCredential } from '../../../core/record.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../exchange.ts'
import type { NarrowedSecret } from '../ports.ts'

/** Credentials by entry and by narrowed token, so that equal records share one object. */
const ofEntries = new WeakMap<ConnectorEntry, RecordCredential>()
const ofTokens = new WeakMap<NarrowedSecret, RecordCredential>()
/** Maximum number of words of a scope in a record. */
const MAX_SCOPE = 128

/**
 * Returns which credential the gateway added to the request, without its secret; undefined when it added none, and for a
 * refused request.
 */
export function credentialOf(exchange: Exchange): RecordCredential | undefined {
  const { connector, echoMask, narrowed, outcome } = exchange
  // The mask exists exactly when a credential was added.
  if (connector === undefined || !echoMask || outcome.denyReason !== null) return undefined
  const { entry } = connector
  if (narrowed?.kind === 'token') return ofToken(entry, narrowed.token)
  const own = ofEntry(entry)
  return narrowed === null ? own : { ...own, not_narrowed: narrowed.reason.slice(0, MAX_REASON) }
}

const MAX_REASON = 500

function ofToken(entry: ConnectorEntry, token: NarrowedSecret): RecordCredential {
  const known = ofTokens.get(token)
  if (known !== undefined) return known
  const made: RecordCredential = {
    id: token.id,
    source: entry.minted?.kind ?? 'minted',
    scope: token.scope.slice(0, MAX_SCOPE),
    expires_at: new Date(token.expiresAtMs).toISOString(),
  }
  ofTokens.set(token, made)
  return made
}

/** Returns the credential of the Connector. A short-lived one has its number in the id. */
function ofEntry(entry: ConnectorEntry): RecordCredential {
  const known = ofEntries.get(entry)
  if (known !== undefined) return known
  const { name, minted } = entry
  const made: RecordCredential =
    minted === undefined
      ? { id: name, source: 'stored' }
      : {
          id: `${name}/${minted.serial}`,
          source: minted.kind ?? 'minted',
          expires_at: minted.expires_at,
        }
  ofEntries.set(entry, made)
  return made
}
