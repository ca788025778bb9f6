import type { Action } from '../action/action.ts'
import type { Connector } from '../connectors/connector.ts'
import type { BoundConnector } from '../connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../request/canonical.ts'
import { plainQueryFacts, queryFacts } from '../request/headers/repeated-names.ts'
import { readPair } from '../request/target.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { DecisionRules } from './decide.ts'
import type { AgentFacts, Decision, DecisionInput, RequestFacts } from './decision.ts'
import { type BodyFact, requestFacts } from './facts/request-facts.ts'
import { decideReach } from './provider-reach.ts'

/** Proxied request, with all data that the decision about it needs. */
export type ProxiedCase = {
  readonly snapshot: Snapshot
  readonly agent: AgentFacts
  readonly bound: BoundConnector
  readonly request: CanonicalRequest
  /** Body of the request; absent for a request without a body. */
  readonly body?: BodyFact
  readonly nowMs: number
}

/**
 * Returns the rules and the inputs of the decision, one input for each action of a proxied request. The gateway and
 * `explain` both call this function, so explanations match decisions.
 */
export function proxiedInputs(
  { snapshot, agent, bound, request, body, nowMs }: ProxiedCase,
  actions: readonly Action[],
): { readonly rules: DecisionRules; readonly inputs: readonly DecisionInput[] } {
  const { entry, connector } = bound
  const { name, environment } = snapshot.gateway
  const common = {
    agent: agentFacts(agent),
    gateway: environment === undefined ? { name } : { name, environment },
    connector: {
      name: entry.name,
      type: connector.name,
      ...(entry.environment === undefined ? {} : { environment: entry.environment }),
    },
    request: requestFacts(request, bound, body),
    otherQuery: otherQuery(request, connector),
    nowMs,
  }
  const inputs = actions.map((action) => ({
    action,
    ...common,
    ...(action.byProvider === undefined ? {} : { reach: decideReach(snapshot, bound, action) }),
  }))
  return { rules: rulesOf(snapshot), inputs }
}

/**
 * Returns the decision, or a deny if the connector lacks the credential that the allowed request needs. At the level
 * `monitor`, the gateway forwards the agent's own credential instead.
 */
export function withCredential(
  decision: Decision,
  { entry }: BoundConnector,
  { gateway }: Snapshot,
): Decision {
  // If a minted secret is missing, its source has failed, and the credential stage answers the request with 503.
  const hasSecret = entry.secret !== null || (entry.minted !== undefined && entry.withheld === undefined)
  const isReady = hasSecret || entry.auth.type === 'none' || gateway.level === 'monitor'
  if (isReady || decision.verdict === 'deny') return decision
  const cause =
    entry.withheld ??
    'Add a credential on the Connectors page, with chaperone credential set, or in a cluster by credential.secretRef. If the API needs no credential, set auth.type of the Connector to none.'
  const reason = `Connector "${entry.name}" has no credential${entry.withheld === undefined ? '' : ' to send'}. ${cause}`
  return {
    ...decision,
    verdict: 'deny',
    would: 'deny',
    reason,
    remedy: undefined,
    source: 'connector',
    requiredGroups: [],
  }
}

function rulesOf({ permissions, policies, gateway }: Snapshot): DecisionRules {
  return { permissions, policies, level: gateway.level, defaultVerdict: gateway.defaultVerdict }
}

/**
 * Returns the facts about the agent that conditions can read. Other properties, such as the hash of the agent's key,
 * are left out.
 */
function agentFacts({ id, name, environment, runtime, status }: AgentFacts): AgentFacts {
  return { id, name, environment, runtime, status }
}

/** Matches query strings that servers may parse differently. */
const READ_DIFFERENTLY = /[;[%+]/

function otherQuery(
  { rawQuery, query }: CanonicalRequest,
  { readsBrackets = false }: Connector,
): RequestFacts['query'] | undefined {
  if (query.length === 0 || !READ_DIFFERENTLY.test(rawQuery)) return undefined
  const parts = rawQuery.split('&').filter((part) => part !== '')
  const pairs = parts.map(readPair).flatMap((pair) => (isRefusal(pair) ? [] : [pair]))
  const plain = plainQueryFacts(pairs, readsBrackets)
  return isSame(plain, queryFacts(query)) ? undefined : plain
}

function isSame(a: RequestFacts['query'], b: RequestFacts['query']): boolean {
  const names = Object.keys(a)
  const isEqual = (name: string) => JSON.stringify(a[name]) === JSON.stringify(b[name])
  return names.length === Object.keys(b).length && names.every(isEqual)
}
