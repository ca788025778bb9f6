import type { Action, Parameters } from '../../../core/action/action.ts'
import { shownHeaders } from '../../../core/connectors/binding/bound-headers.ts'
import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import { effectDetails, effectNames } from '../../../core/connectors/effects/effects.ts'
import { otherFields } from '../../../core/connectors/fields/other-fields.ts'
import { scannedFields } from '../../../core/connectors/fields/scanned-fields.ts'
import { shownEnvironment } from '../../../core/decision/facts/environment.ts'
import { groupNames, requiredView } from '../../../core/decision/policies/required-groups.ts'
import { ruleLabel } from '../../../core/decision/policies/rule-label.ts'
import { reachedConnectors } from '../../../core/decision/provider-reach.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { storableForm, storableText } from '../../../core/storable.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import { describeUnread } from '../body/unread-body.ts'
import { primaryType } from '../classification/primary-action.ts'
import type { Decided } from '../phases.ts'
import { primaryInput } from '../record/record-audit.ts'
import { type BoundRequest, requestFingerprint } from './binding.ts'
import { heldBy } from './held-by.ts'
import { pinViews, type ReadPin } from './pins.ts'

export type HoldFacts = {
  readonly binding: string
  readonly bound: BoundRequest
  readonly bodySha256: string | null
  readonly pins: readonly ReadPin[]
}

/**
 * Builds the approval card, which shows the canonical request and its effect in full. Several actions (a batch) are
 * listed in `parameters.actions`, undetermined candidates in `parameters.candidates`.
 */
export function describeHold(exchange: Decided, { binding, bound, bodySha256, pins }: HoldFacts): HoldBody {
  const { agent, connector, request, decision, actions } = exchange
  const type = primaryType(exchange) ?? ''
  const primary = actions.find((action) => action.type === type)
  const { decisive } = decision
  const input = primaryInput(exchange)
  return {
    binding,
    agent: agent.name,
    act_id: exchange.actId ?? '',
    connector: connector.connector.name,
    connector_name: connector.entry.name,
    action_type: type,
    target: storableText((primary && targetOf(primary)) ?? '') || null,
    environment: (input && shownEnvironment(input)) ?? null,
    risk_hints: { ...primary?.riskHints },
    method: request.method,
    host: request.host,
    path: bound.target,
    headers: [...shownHeaders(connector.connector.name, bound.headers)],
    parameters: parametersOf(exchange, primary),
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    matched_rule: decisive === undefined ? decision.permissionPattern : ruleLabel(decisive),
    required_approver_groups: groupNames(decision.requiredGroups),
    required_groups: requiredView(decision.requiredGroups),
    requested_by_agent_text: null,
    body_sha256: bodySha256,
    request_fingerprint: requestFingerprint(exchange, bodySha256),
    unread_body: describeUnread(exchange),
    effects: [...effectNames(actions)],
    ...(actions.length === 1 && primary !== undefined ? { effect: primary.effect } : {}),
    pins: pinViews(pins),
    held_by: heldBy(exchange, bound.headers),
    ...reachedBy(exchange),
  }
}

function reachedBy({ snapshot, actions }: Decided): Pick<HoldBody, 'reached_connectors'> {
  const reached = reachedConnectors(snapshot, actions)
  return reached.length === 0 ? {} : { reached_connectors: [...reached] }
}

/**
 * Returns the parameters for the card. Replaces characters that the control plane cannot store, because they would
 * prevent the approval.
 */
function parametersOf(exchange: Decided, primary: Action | undefined): Parameters {
  const { actions, named, isOpenEnded } = exchange
  const isBatch = actions.length > 1
  const list = named.kind === 'candidates' ? 'candidates' : 'actions'
  return storableForm({
    ...(isBatch ? { [list]: actions.map(describeAction) } : primary?.parameters),
    ...(isBatch ? {} : reasonFor(primary)),
    ...(isOpenEnded === true ? { request_stream: OPEN_STREAM } : {}),
    ...besides(exchange, isBatch ? {} : primary?.parameters),
  })
}

/**
 * Returns the body fields that are not parameters of the action. Omits the agent's own credential, which a later stage
 * removes.
 */
function besides(exchange: Decided, parameters: Parameters = {}): Parameters {
  const { bodyBytes, request, connector, scan } = exchange
  if (bodyBytes === undefined) return {}
  const { carriers, undescribed } = connector.connector
  const view =
    scan?.bytes === bodyBytes ? scannedFields(bodyBytes, scan.result) : parseBody(bodyBytes, request.body, [])
  if (isRefusal(view)) return {}
  const shown =
    view.kind === 'json' && undescribed !== undefined
      ? { ...view, value: undescribed(view.value, connector.config) }
      : view
  const fields = otherFields(shown, { parameters, leftOut: carriers.bodyFields })
  return fields === null ? {} : { other_fields: fields }
}

const OPEN_STREAM =
  'still open: the agent can send further messages in this call after the approval, and the approval covers all of them.'

function targetOf({ connector, resource }: Action): string | undefined {
  return canonicalTarget(connector, resource)
}

function describeAction(action: Action): Record<string, unknown> {
  const { type, parameters } = action
  const target = targetOf(action) ?? null
  return { type, target, ...effectDetails(action), parameters, ...reasonFor(action) }
}

/** Returns `name_reason`: the reason why the action has this name and not that of a less severe action. */
function reasonFor(action: Action | undefined): { readonly name_reason?: string } {
  return action?.nameReason === undefined ? {} : { name_reason: action.nameReason }
}
