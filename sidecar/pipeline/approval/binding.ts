import { type BoundHeader, boundHeaders } from '../../../core/connectors/binding/bound-headers.ts'
import { fingerprintText } from '../../../core/connectors/binding/request-fingerprint.ts'
import { requiredView } from '../../../core/decision/policies/required-groups.ts'
import { sha256Hex } from '../../process/sha256.ts'
import type { Exchange } from '../exchange.ts'
import { outgoingOf } from '../outgoing.ts'
import { boundBody } from './bound-body.ts'
import { pinnedStates, type ReadPin } from './pins.ts'

/** The parts of a held request that an approval is bound to, besides agent and rules. */
export type BoundRequest = {
  /** Without a credential of the agent's own in the query. */
  readonly target: string
  /** Everything that is forwarded, but for the documented ignored fields. */
  readonly headers: readonly BoundHeader[]
  /** Hash of the body without what a client makes anew for each try; `open` for one without an end; null without a body. */
  readonly body: string | null
}

export function boundRequest(exchange: Exchange): BoundRequest {
  const { connector, request, kind } = exchange
  if (connector === undefined || request === undefined) throw new Error('bound before it was routed')
  const body = boundBody(exchange, connector.connector.unboundMembers)
  // Of a tunnel's CONNECT nothing is forwarded.
  if (kind === 'tunnel') return { target: request.rawTarget, headers: [], body: body.hash }
  const { edit } = outgoingOf(exchange, connector, request)
  const headers = boundHeaders(connector.connector.name, body.withType(edit.rawHeaders))
  return { target: edit.rawTarget, headers, body: body.hash }
}

/**
 * Returns the binding of an approval as one hash: the agent, the connector, the request, the rules, and the pinned
 * state. Any other request needs an approval of its own.
 */
export function bindingOf(exchange: Exchange, bound: BoundRequest, pins: readonly ReadPin[] = []): string {
  const { agent, connector, request, decision, raw, order } = exchange
  return sha256Hex(
    JSON.stringify([
      'hold-2',
      agent?.id,
      agent?.name,
      connector?.entry.id,
      raw.method,
      request?.scheme,
      request?.host,
      request?.port,
      request?.isUpgrade,
      bound.target,
      bound.body,
      bound.headers.map(({ name, value }) => [name, value]),
      [...(decision?.policies ?? [])].sort(),
      decision?.permission,
      requiredView(decision?.requiredGroups ?? []),
      // An order shares no card with other requests: its approval belongs to its action.
      ...(order === undefined ? [] : [order.actionRequestId]),
      ...(pins.length === 0 ? [] : [pinnedStates(pins)]),
    ]),
  )
}

/** The whole request as it was received, as one hash: by it the control plane finds the execution that sent the request. */
export function requestFingerprint(exchange: Exchange, bodySha256: string | null): string {
  const { agent, connector, request, isOpenEnded } = exchange
  if (agent === undefined || connector === undefined || request === undefined) {
    throw new Error('held before it was routed')
  }
  return sha256Hex(
    fingerprintText({
      ...{ agent: agent.name, connectorType: connector.connector.name, request },
      ...{ rawHeaders: request.rawHeaders, body: isOpenEnded === true ? 'open' : bodySha256 },
    }),
  )
}
