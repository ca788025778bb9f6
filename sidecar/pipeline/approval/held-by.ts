import { type BoundHeader, effectiveHeaders } from '../../../core/connectors/binding/bound-headers.ts'
import { effectNames } from '../../../core/connectors/effects/effects.ts'
import type { Decision, DecisionInput } from '../../../core/decision/decision.ts'
import { shownEnvironment } from '../../../core/decision/facts/environment.ts'
import { ACCOUNT_HEADERS } from '../../../core/request/header-names.ts'
import type { HeldBy } from '../../../core/wire/gateway/hold.ts'
import { sha256Hex } from '../../process/sha256.ts'
import { describeUnread } from '../body/unread-body.ts'
import type { Exchange } from '../exchange.ts'
import { primaryInput } from '../record/record-audit.ts'

/** Sources of a decision whose rules a grant can name. */
const SOURCES: ReadonlySet<string> = new Set(['permission', 'policy', 'default'])

/**
 * Returns the rules that hold the request, for which a grant may release it. Undefined for a request that no grant can cover:
 * with several or undetermined actions, with a body that is unread or still open, or with hosts that the provider reaches.
 */
export function heldBy(exchange: Exchange, headers: readonly BoundHeader[]): HeldBy | undefined {
  const { actions = [], named, decision, isOpenEnded } = exchange
  const input = primaryInput(exchange)
  if (decision === undefined || input === null || !SOURCES.has(decision.source)) return undefined
  if (actions.length !== 1 || isOpenEnded === true) return undefined
  if (named?.kind !== 'actions' || named.announces !== undefined) return undefined
  if (describeUnread(exchange) !== null || input.reach !== undefined) return undefined
  const type = exchange.connector?.connector.name ?? ''
  // The idempotency key is new for each request, and selects nothing but an earlier answer to the same request.
  const common = effectiveHeaders(type, headers).filter(({ name }) => name !== 'idempotency-key')
  return rulesHolding(decision, { input, headers: common })
}

type Common = {
  readonly input: DecisionInput
  /** Header fields that may change the effect of the request; null without a request. */
  readonly headers: readonly BoundHeader[] | null
}

/** Returns the rules of a decision to hold, with the hashes of the facts that requests of one grant have in common. */
export function rulesHolding(decision: Decision, { input, headers }: Common): HeldBy {
  const policies = decision.requiredGroups.map(({ policyId, policy, groups, distinct }) => {
    const ref = decision.policies.find((each) => each.startsWith(`${policyId}@`)) ?? policyId
    return { ref, rule: policy, groups: [...groups], distinct }
  })
  const hashWith = (fields: readonly BoundHeader[]) =>
    sha256Hex(JSON.stringify([fields, effectNames([input.action]), shownEnvironment(input)]))
  return {
    ...(headers === null ? {} : { common_sha256: hashWith(headers) }),
    account_sha256: hashWith((headers ?? []).filter(({ name }) => ACCOUNT_HEADERS.has(name))),
    source: decision.source,
    permission: decision.permission,
    policies,
  }
}
