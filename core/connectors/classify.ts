import type { Action } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, refusal } from '../request/canonical.ts'
import { type OverridableFormat, overridableFormat } from '../request/method-override.ts'
import type { BodyView, Classification, Named } from './connector.ts'
import { withAgentTriggers } from './effects/fields/agent-triggers.ts'
import { actionsOf, namedAction, oneAction } from './named-action.ts'
import type { BoundConnector } from './registry.ts'
import { nameByUserRows, userRowIsOpaque, withDeclaredWrites } from './rows/user-rows.ts'

/**
 * Classifies a request: determines its actions. Without `body`, actions that depend on the body are returned as
 * `candidates`; `body` (see `parseBody`) settles them. A POST to an MCP endpoint has no finite set of candidates, so
 * its result without `body` is a refusal.
 */
export function classify(bound: BoundConnector, request: CanonicalRequest, body?: BodyView): Classification {
  const named = classifyByType(bound, request, body)
  const { agentTriggers } = bound.entry
  if (agentTriggers === undefined || isRefusal(named)) return named
  return named.kind === 'actions'
    ? { ...named, actions: withAgentTriggers(named.actions, agentTriggers) }
    : { ...named, candidates: withAgentTriggers(named.candidates, agentTriggers) }
}

function classifyByType(bound: BoundConnector, request: CanonicalRequest, body?: BodyView): Classification {
  if (request.method === 'CONNECT') return oneAction(channel(bound, request, 'tunnel'))
  if (request.isUpgrade) return nameUpgrade(bound, request)
  const named = bound.connector.parseAction(request, body, bound.config)
  if (bound.userRows === null || isRefusal(named) || !mayRename(bound, named)) return named
  const { userRows, connector, config } = bound
  return (
    nameByUserRows(userRows, connector.name, request, config) ??
    withDeclaredWrites(userRows, connector.name, request, named, config)
  )
}

/**
 * Returns which configuration declares that the gateway may hold and forward the bodies of this request unread
 * (`opaque`): the Connector or a row; null if none does.
 */
export function opaqueBy(bound: BoundConnector, request: CanonicalRequest): 'Connector' | 'row' | null {
  if (bound.entry.bodies === 'opaque') return 'Connector'
  const { connector, config, userRows } = bound
  if (connector.hasOpaqueBody?.(request, config) === true) return 'row'
  if (userRows === null || !userRowIsOpaque(userRows, request)) return null
  const named = connector.parseAction(request, { kind: 'opaque' }, config)
  return isRefusal(named) || !mayRename(bound, named) ? null : 'row'
}

/**
 * Returns the body keys that the classification of this request depends on, for `parseBody` and `createKeyScan`; empty
 * if it does not depend on the body.
 */
export function decidingKeys(bound: BoundConnector, request: CanonicalRequest): readonly string[] {
  if (request.method === 'CONNECT' || request.isUpgrade) return []
  return bound.connector.decidingKeys?.(request, bound.config) ?? []
}

/**
 * Returns the JSON members that the gateway reads in a full scan of the body, even if no policy uses them; null if the
 * body is not scanned in full.
 */
export function scannedMembers(bound: BoundConnector, request: CanonicalRequest): readonly string[] | null {
  if (request.method === 'CONNECT' || request.isUpgrade) return null
  return bound.connector.scannedMembers?.(request, bound.config) ?? null
}

/**
 * True if only the body settles the classification: the connector type lists deciding keys for the request, or, for a
 * type without `decidingKeys`, the body selects one of several candidates. False if the body can only add actions
 * (`bodyMayAct`).
 */
export function needsBody(bound: BoundConnector, request: CanonicalRequest): boolean {
  if (bound.connector.bodyMayAct?.(request, bound.config) === true) return false
  if (decidingKeys(bound, request).length > 0) return true
  if (bound.connector.decidingKeys !== undefined) return false
  const named = classify(bound, request)
  return named.kind === 'candidates' && named.settledBy !== 'server'
}

/**
 * Returns the format (form, multipart or JSON) of a body that could override the request's method with `_method`; null
 * if the server supports no override in this format.
 */
export function overridableBody(
  { connector }: BoundConnector,
  request: CanonicalRequest,
): OverridableFormat | null {
  if (connector.overridable === undefined) return null
  const format = overridableFormat(request)
  return format !== null && connector.overridable.includes(format) ? format : null
}

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE'] as const

/**
 * Returns the possible actions of a POST whose body may name another method for the server to use. Null if the request
 * would be refused with one of these methods.
 */
export function overriddenActions(
  bound: BoundConnector,
  request: CanonicalRequest,
): readonly Action[] | null {
  const named = OTHER_METHODS.map((method) => classify(bound, { ...request, method }))
  if (named.some(isRefusal)) return null
  return named.flatMap((one) => (isRefusal(one) ? [] : actionsOf(one)))
}

/**
 * Returns the action of a streamed request from the body keys that a scan found; null if the keys do not determine the
 * action. The traffic record shows this action. Decisions never use it.
 */
export function nameSeen(
  bound: BoundConnector,
  request: CanonicalRequest,
  seen: ReadonlyMap<string, unknown>,
): Action | null {
  const named = classify(bound, request, { kind: 'json', value: Object.fromEntries(seen) })
  return named.kind === 'actions' ? (named.actions[0] ?? null) : null
}

/**
 * Classifies a WebSocket upgrade. A server without WebSocket support at this path executes the request as a plain GET,
 * and some GET rows are not reads. The classification therefore includes the actions of these rows, but no reads,
 * because the gateway does not forward the response to a plain GET.
 */
function nameUpgrade(bound: BoundConnector, request: CanonicalRequest): Classification {
  const socket = nameMessageSocket(bound, request)
  if (socket !== null) {
    return bound.entry.webSocketMessages === true ? socket : refusal('upgrade_refused', UNREAD_MESSAGES)
  }
  const plain = classify(bound, { ...request, isUpgrade: false }, { kind: 'absent' })
  if (isRefusal(plain)) return plain
  const changes = actionsOf(plain).filter(({ effect }) => effect !== 'read')
  const unread = bound.connector.unreadActions?.(bound.config) ?? []
  return { kind: 'actions', actions: [channel(bound, request, 'websocket'), ...changes, ...unread] }
}

/** True for an upgrade to a WebSocket whose messages the gateway reads. */
export function readsMessages(bound: BoundConnector, request: CanonicalRequest): boolean {
  return bound.entry.webSocketMessages === true && nameMessageSocket(bound, request) !== null
}

const UNREAD_MESSAGES =
  'The gateway cannot read the requests in the messages of this WebSocket. Send each request over HTTP.'

/**
 * Returns `<connector>.websocket.connect` for an upgrade to a WebSocket whose messages are separate requests. The
 * upgrade announces the actions of the messages and performs none of them. Null for other requests.
 */
export function nameMessageSocket(bound: BoundConnector, request: CanonicalRequest): Named | null {
  const { connector, config } = bound
  const announces = request.isUpgrade ? (connector.messages?.actions(request, config) ?? null) : null
  if (announces === null) return null
  const type = `${connector.name}.websocket.connect`
  const target = request.host + request.rawPath
  const parts = { connector: connector.name, type, effect: 'read', risk: 'low', target } as const
  return { kind: 'actions', actions: [namedAction(parts, config)], announces }
}

/**
 * Returns the action of a tunnel or WebSocket whose content the gateway does not inspect: `<connector>.tunnel.open` or
 * `<connector>.websocket.open`, with high risk.
 */
function channel(bound: BoundConnector, request: CanonicalRequest, kind: 'tunnel' | 'websocket'): Action {
  const connector = bound.connector.name
  const target = request.host + request.rawPath
  const type = `${connector}.${kind}.open`
  return namedAction({ connector, type, effect: 'write', risk: 'high', target }, bound.config)
}

/**
 * Reports whether a row that the Connector declares may rename the action. Built-in rows take precedence. The method
 * actions of `generic` and `webhook` (`generic.post`) come from no row, so a declared row may rename them.
 */
function mayRename(bound: BoundConnector, named: Named): boolean {
  if (named.kind === 'actions' && named.actions.length > 1) return false
  const isByMethod = bound.connector.name === 'generic' || bound.connector.name === 'webhook'
  return isByMethod || actionsOf(named)[0]?.unmapped === true
}
