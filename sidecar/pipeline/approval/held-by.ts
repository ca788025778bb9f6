import { type BoundHeader, effectiveHeaders } from '../../../core/connectors/binding/bound-headers.ts'
import { effectNames } from '../../../core/connectors/effects/effects.ts'
import type { Decision, DecisionInput } from '../../../core/decision/decision.ts'
import { shownEnvironment } from '../../../core/decision/facts/environment.ts'
import { ACCOUNT_HEADERS } from '../../../core/request/headers/header-names.ts'
import type { HeldBy } from '../../../core/wire/gateway/hold.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { describeUnread } from '../body/unread-body.ts'
import type { Decided } from '../phases.ts'
import { primaryInput } from '../record/record-audit.ts'

/** Sources of decisions. A grant can name only rules of these sources. */
const SOURCES: ReadonlySet<string> = new Set(['permission', 'policy', 'default'])

/**
 * Returns the rules that hold the request, and hashes of the facts that requests of one grant have in common. Returns
 * undefined for a request that no grant can cover. Such a request has several or undetermined actions, a body that is
 * unread or unfinished, or hosts that the provider reaches. No grant covers a request either that something other than
 * a permission, a policy or the default holds.
 */
export function heldBy(exchange: Decided, headers: readonly BoundHeader[]): HeldBy | undefined {
  const { actions, named, decision, isOpenEnded, connector } = exchange
  const input = primaryInput(exchange)
  if (input === null || !SOURCES.has(decision.source)) return undefined
  if (actions.length !== 1 || isOpenEnded === true) return undefined
  if (named.kind !== 'actions' || named.announces !== undefined) return undefined
  if (describeUnread(exchange) !== null || input.reach !== undefined) return undefined
  const type = connector.connector.name
  // The idempotency key is new for each request, and selects nothing but an earlier answer to the same request.
  const common = effectiveHeaders(type, headers).filter(({ name }) => name !== 'idempotency-key')
  return rulesHolding(decision, {
    input,
    connectorId: connector.entry.id,
    request: { headers: common, endpoint: endpointOf(exchange, type) },
  })
}

/**
 * Returns the method and the address of the request. For MCP the address includes the path: several MCP servers may
 * share a host, and an MCP action does not contain the path.
 */
function endpointOf({ request, raw }: Decided, type: string): readonly unknown[] {
  const address = [raw.method, request.scheme, request.host, request.port, request.isUpgrade]
  return type === 'mcp' ? [...address, request.rawPath] : address
}

type Common = {
  readonly input: DecisionInput
  /** Id of the Connector. A recreated Connector has another id. */
  readonly connectorId: string
  /**
   * Server of the request, and header fields that may change its effect; null for an access request, which an agent
   * makes without a held request.
   */
  readonly request: {
    readonly headers: readonly BoundHeader[]
    readonly endpoint: readonly unknown[]
  } | null
}

/** Returns the rules of a decision to hold, with the hashes of the facts that requests of one grant have in common. */
export function rulesHolding(decision: Decision, { input, connectorId, request }: Common): HeldBy {
  const policies = decision.requiredGroups.map(({ policyId, policy, groups, distinct }) => {
    const ref = decision.policies.find((each) => each.startsWith(`${policyId}@`)) ?? policyId
    return { ref, rule: policy, groups: [...groups], distinct }
  })
  const facts = [connectorId, effectNames([input.action]), shownEnvironment(input)]
  const hashWith = (...more: readonly unknown[]) => sha256Hex(JSON.stringify([...facts, ...more]))
  const account = (request?.headers ?? []).filter(({ name }) => ACCOUNT_HEADERS.has(name))
  return {
    ...(request === null ? {} : { common_sha256: hashWith(request.headers, request.endpoint) }),
    account_sha256: hashWith(account),
    source: decision.source,
    permission: decision.permission,
    policies,
  }
}
