import type { Action } from '../action/action.ts'
import { type CanonicalRequest, isRefusal, refusal } from '../request/canonical.ts'
import { type OverridableFormat, overridableFormat } from '../request/method-override.ts'
import type { BodyView, Classification, Named } from './connector.ts'
import { actionsOf, namedAction, oneAction } from './named-action.ts'
import type { BoundConnector } from './registry.ts'
import { nameByUserRows, userRowIsOpaque, withDeclaredWrites } from './rows/user-rows.ts'

/**
 * Names what a request does. Without a body a class that depends on it comes back as `candidates`; with one (see
 * `parseBody`) it is settled. An MCP POST has no finite candidates: without its body it is a refusal.
 */
export function classify(bound: BoundConnector, request: CanonicalRequest, body?: BodyView): Classification {
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

/** What declares that the bodies of this request are opaque: its Connector, its row, or null when nothing does. */
export function opaqueBy(bound: BoundConnector, request: CanonicalRequest): 'Connector' | 'row' | null {
  if (bound.entry.bodies === 'opaque') return 'Connector'
  const { connector, config, userRows } = bound
  if (connector.hasOpaqueBody?.(request, config) === true) return 'row'
  if (userRows === null || !userRowIsOpaque(userRows, request)) return null
  const named = connector.parseAction(request, { kind: 'opaque' }, config)
  return isRefusal(named) || !mayRename(bound, named) ? null : 'row'
}

/** Body keys that the class of this request depends on, for `parseBody` and `createKeyScan`; empty when it does not. */
export function decidingKeys(bound: BoundConnector, request: CanonicalRequest): readonly string[] {
  if (request.method === 'CONNECT' || request.isUpgrade) return []
  return bound.connector.decidingKeys?.(request, bound.config) ?? []
}

/** Members for a scan of the body of this request, which is read to its end whatever the rules say; null for other requests. */
export function scannedMembers(bound: BoundConnector, request: CanonicalRequest): readonly string[] | null {
  if (request.method === 'CONNECT' || request.isUpgrade) return null
  return bound.connector.scannedMembers?.(request, bound.config) ?? null
}

/** True when the class cannot be settled without the body: an MCP POST always, others when they have candidates. */
export function needsBody(bound: BoundConnector, request: CanonicalRequest): boolean {
  if (bound.connector.bodyMayAct?.(request, bound.config) === true) return false
  if (decidingKeys(bound, request).length > 0) return true
  if (bound.connector.decidingKeys !== undefined) return false
  const named = classify(bound, request)
  return named.kind === 'candidates' && named.settledBy !== 'server'
}

/** How the body of this request could carry another method, where its server may look for one; else null. */
export function overridableBody(
  { connector }: BoundConnector,
  request: CanonicalRequest,
): OverridableFormat | null {
  if (connector.overridable === undefined) return null
  const format = overridableFormat(request)
  return format !== null && connector.overridable.includes(format) ? format : null
}

const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE'] as const

/** What else a POST would be if its server took another method from the body; null where that cannot be said. */
export function overriddenActions(
  bound: BoundConnector,
  request: CanonicalRequest,
): readonly Action[] | null {
  const named = OTHER_METHODS.map((method) => classify(bound, { ...request, method }))
  if (named.some(isRefusal)) return null
  return named.flatMap((one) => (isRefusal(one) ? [] : actionsOf(one)))
}

/** Settles candidates for the record by what a key scan saw while the body streamed by. Never decides. */
export function nameSeen(
  bound: BoundConnector,
  request: CanonicalRequest,
  seen: ReadonlyMap<string, unknown>,
): Action | null {
  const named = classify(bound, request, { kind: 'json', value: Object.fromEntries(seen) })
  return named.kind === 'actions' ? (named.actions[0] ?? null) : null
}

/**
 * A server that knows no WebSocket here does what the line says, and there are lines with GET that change something:
 * that happens, too. A read would only tell, and what it tells is not passed on.
 */
function nameUpgrade(bound: BoundConnector, request: CanonicalRequest): Classification {
  const socket = nameMessageSocket(bound, request)
  if (socket !== null) {
    return bound.entry.webSocketMessages === true ? socket : refusal('upgrade_refused', UNREAD_MESSAGES)
  }
  const plain = classify(bound, { ...request, isUpgrade: false }, { kind: 'absent' })
  if (isRefusal(plain)) return plain
  const changes = actionsOf(plain).filter(({ effect }) => effect !== 'read')
  return { kind: 'actions', actions: [channel(bound, request, 'websocket'), ...changes] }
}

/** True for the upgrade to a WebSocket whose messages the gateway reads. */
export function readsMessages(bound: BoundConnector, request: CanonicalRequest): boolean {
  return bound.entry.webSocketMessages === true && nameMessageSocket(bound, request) !== null
}

const UNREAD_MESSAGES =
  'The messages of this WebSocket are requests of their own, and the gateway does not read them here. Send each request over HTTP.'

/**
 * The upgrade to a WebSocket whose messages are requests of their own, as `<connector>.websocket.connect`. It announces
 * their actions and does nothing else. Null for every other request.
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

/** A raw channel shows nothing of what happens in it: `<connector>.tunnel.open`, `<connector>.websocket.open`, high. */
function channel(bound: BoundConnector, request: CanonicalRequest, kind: 'tunnel' | 'websocket'): Action {
  const connector = bound.connector.name
  const target = request.host + request.rawPath
  const type = `${connector}.${kind}.open`
  return namedAction({ connector, type, effect: 'write', risk: 'high', target }, bound.config)
}

/** Declared rows name what no built-in row describes; a bare method of generic or webhook is no description. */
function mayRename(bound: BoundConnector, named: Named): boolean {
  if (named.kind === 'actions' && named.actions.length > 1) return false
  const isByMethod = bound.connector.name === 'generic' || bound.connector.name === 'webhook'
  return isByMethod || actionsOf(named)[0]?.unmapped === true
}
