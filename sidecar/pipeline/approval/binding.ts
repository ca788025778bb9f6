import { type BoundHeader, boundHeaders } from '../../../core/connectors/binding/bound-headers.ts'
import { fingerprintText } from '../../../core/connectors/binding/request-fingerprint.ts'
import { requiredView } from '../../../core/decision/policies/required-groups.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { outgoingOf } from '../outgoing.ts'
import type { Decided } from '../phases.ts'
import { boundBody } from './bound-body.ts'
import { pinnedStates, type ReadPin } from './pins.ts'

/** Parts of a held request to which its approval is bound, besides agent and rules. */
export type BoundRequest = {
  /** Request target without the agent's own credential in the query. */
  readonly target: string
  /** All forwarded headers, except those that the documentation names as ignored. */
  readonly headers: readonly BoundHeader[]
  /**
   * Hash of the body without the values that a client regenerates for each attempt. `open` for a body whose end has not
   * arrived; null when no body was read.
   */
  readonly body: string | null
}

export function boundRequest(exchange: Decided): BoundRequest {
  const { connector, request, kind } = exchange
  const body = boundBody(exchange, connector.connector.unboundMembers)
  // The headers of a CONNECT are not forwarded, so the approval is not bound to them.
  if (kind === 'tunnel') return { target: request.rawTarget, headers: [], body: body.hash }
  const { edit } = outgoingOf(exchange, connector)
  const headers = boundHeaders(connector.connector.name, body.withType(edit.rawHeaders))
  return { target: edit.rawTarget, headers, body: body.hash }
}

/**
 * Returns the binding of an approval as one hash of agent, connector, request, rules and pinned state. A request with
 * another hash needs its own approval.
 */
export function bindingOf(exchange: Decided, bound: BoundRequest, pins: readonly ReadPin[] = []): string {
  const { agent, connector, request, decision, raw, order } = exchange
  return sha256Hex(
    JSON.stringify([
      'hold-2',
      agent.id,
      agent.name,
      connector.entry.id,
      raw.method,
      request.scheme,
      request.host,
      request.port,
      request.isUpgrade,
      bound.target,
      bound.body,
      bound.headers.map(({ name, value }) => [name, value]),
      [...decision.policies].sort(),
      decision.permission,
      requiredView(decision.requiredGroups),
      // The approval of a request that the control plane ordered belongs to its action request, and is shared with no
      // other request.
      ...(order === undefined ? [] : [order.actionRequestId]),
      ...(pins.length === 0 ? [] : [pinnedStates(pins)]),
    ]),
  )
}

/**
 * Returns a hash of the whole request, without the agent's credential in its body. By this hash the control plane finds
 * the execution that sent the request.
 */
export function requestFingerprint(exchange: Decided, bodySha256: string | null): string {
  const { agent, connector, request, isOpenEnded } = exchange
  return sha256Hex(
    fingerprintText({
      agent: agent.name,
      connectorType: connector.connector.name,
      request,
      rawHeaders: request.rawHeaders,
      body: isOpenEnded === true ? 'open' : bodySha256,
    }),
  )
}
