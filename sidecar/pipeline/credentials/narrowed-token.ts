import { neededActions, permissionNeed } from '../../../core/connectors/codehost/token-need.ts'
import { scopeNeed } from '../../../core/connectors/credentials/scope-need.ts'
import type { NeededAction, TokenNeed } from '../../../core/connectors/credentials/token-need.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { injectsNone } from '../outgoing.ts'
import type { Decided, Parsed } from '../phases.ts'
import type { NarrowedAnswer, PipelinePorts, TokenRequest } from '../ports.ts'
import { credentialProblem, entryNow, refuseExpired } from './minted-secret.ts'

type NarrowedPorts = Pick<PipelinePorts, 'narrowed'>

/**
 * Sets `exchange.narrowed`: a token that is narrowed to the actions of the exchange, the reason why the token of the
 * Connector is sent, or null for a Connector without narrowed tokens. Then returns null. Refuses the request when
 * neither the control plane nor the cache has a token.
 */
export function narrowToken(
  exchange: Parsed,
  { entry }: BoundConnector,
  { narrowed }: NarrowedPorts,
): 'responded' | null | Promise<'responded' | null> {
  exchange.narrowed = null
  const request = tokenRequestOf(exchange, entry)
  if (request === null) return null
  if (typeof request === 'string') return apply(exchange, { kind: 'whole', reason: request })
  const cached = narrowed.cached(request)
  if (cached !== null) return apply(exchange, cached)
  return narrowed.fetch(request).then((answer) => {
    exchange.abort.signal.throwIfAborted()
    return apply(exchange, answer)
  })
}

type CheckPorts = NarrowedPorts & Pick<PipelinePorts, 'snapshot' | 'clock'>

/** Fetches the token with which a held request would be sent now, unless the cache has it. Never rejects. */
export async function prepareToken(exchange: Decided, { narrowed, snapshot }: CheckPorts): Promise<void> {
  const request = tokenRequestOf(exchange, entryNow(exchange, snapshot()))
  if (request === null || typeof request === 'string') return
  const state = narrowed.state(request)
  if (state === 'missing' || state === 'outdated') await narrowed.fetch(request)
}

/**
 * Returns the reason why a held request could not be sent now; null when it could be sent. `prepareToken` must have run
 * before.
 */
export function sendProblem(exchange: Decided, ports: CheckPorts): string | null {
  const request = tokenRequestOf(exchange, entryNow(exchange, ports.snapshot()))
  if (request === null || typeof request === 'string') return credentialProblem(exchange, ports)
  const state = ports.narrowed.state(request)
  if (state === 'whole') return credentialProblem(exchange, ports)
  return state === 'missing' ? problemOf(exchange, NOT_ISSUED) : null
}

const NOT_ISSUED = 'The control plane has not issued a token for these actions. Send the request again.'

/**
 * Returns the request for a narrowed token. Returns null when the exchange is sent without a narrowed token. Returns a
 * sentence with the reason when the permissions or scopes of an action are not known.
 */
function tokenRequestOf(
  { connector, request, actions, system }: Parsed,
  entry: ConnectorEntry | null,
): TokenRequest | string | null {
  if (connector === undefined || system !== undefined) return null
  if (entry?.minted?.narrow !== true || injectsNone(connector, request)) return null
  if (actions === undefined || actions.length === 0) return 'The action of the request is not known.'
  const readsMore =
    actions.some(({ effect }) => effect !== 'read') &&
    connector.connector.readsMore?.(request, connector.config) === true
  const needed = neededActions(actions, request)
  const need = needOf(entry, needed, readsMore)
  return typeof need === 'string' ? need : { entry, actions: needed, need }
}

/**
 * Returns the repositories, permissions or scopes that the actions need together. Returns a sentence with the reason
 * when these are not known.
 */
function needOf(
  { minted }: ConnectorEntry,
  actions: readonly NeededAction[],
  readsMore: boolean,
): TokenNeed | string {
  const rules = minted?.scopesByAction
  const need = rules === undefined ? permissionNeed(actions, readsMore) : scopeNeed(actions, rules)
  if (typeof need !== 'string') return need
  return rules === undefined
    ? `It is not known which permissions ${need} needs, so its requests are sent with the token of the Connector, which is not limited to single requests.`
    : `The Connector states no scopes for ${need}.`
}

function apply(exchange: Parsed, answer: NarrowedAnswer): 'responded' | null {
  if (answer.kind === 'unavailable') return refuseExpired(exchange, problemOf(exchange, answer.reason))
  exchange.narrowed = answer
  return null
}

/** Returns the reason, in full sentences, why the exchange cannot be sent. */
function problemOf({ connector, actions = [] }: Parsed, reason: string): string {
  const types = [...new Set(actions.map(({ type }) => type))].slice(0, 3).join(', ')
  return `Connector "${connector?.entry.name ?? ''}" has no token for ${types}, so the request cannot be sent. ${reason}`
}
