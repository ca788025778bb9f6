import type { Action } from '../../core/action/action.ts'
import type { DecisionRules } from '../../core/decision/decide.ts'
import type { AgentFacts, Decision, DecisionInput, RequestFacts } from '../../core/decision/decision.ts'
import type { Verdict } from '../../core/decision/vocabulary.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../../core/wire/sync.ts'
import type { Exchange } from './exchange.ts'

/** The rules and the facts under which this exchange's actions are decided. */
export function decisionInputs(
  exchange: Exchange,
  actions: readonly Action[],
  nowMs: number,
): { rules: DecisionRules; inputs: readonly DecisionInput[] } {
  const { snapshot, agent, connector, request } = exchange
  if (snapshot === undefined || agent === undefined || connector === undefined || request === undefined) {
    throw new Error('decided before the request was identified and routed')
  }
  const { entry } = connector
  const common = {
    agent: agentFacts(agent),
    gateway: gatewayFacts(snapshot),
    connector: {
      name: entry.name,
      type: connector.connector.name,
      ...(entry.environment === undefined ? {} : { environment: entry.environment }),
    },
    request: requestFacts(request),
    nowMs,
  }
  return { rules: rulesOf(snapshot), inputs: actions.map((action) => ({ action, ...common })) }
}

/** A decision that no permission or policy took: about a host, or an agent. */
export function plainDecision(
  verdict: Verdict,
  would: Verdict,
  reason: string,
  source: Decision['source'],
): Decision {
  return {
    verdict,
    would,
    reason,
    source,
    permission: null,
    permissionPattern: null,
    policies: [],
    rules: [],
    riskScore: 0,
    riskFactors: [],
    approverGroups: [],
  }
}

function rulesOf(snapshot: Snapshot): DecisionRules {
  const { permissions, policies, gateway } = snapshot
  return { permissions, policies, level: gateway.level, defaultVerdict: gateway.defaultVerdict }
}

/** Conditions see the agent without the hash of its key. */
function agentFacts({ id, name, environment, runtime, status }: AgentEntry): AgentFacts {
  return { id, name, environment, runtime, status }
}

function gatewayFacts({ gateway }: Snapshot): { name: string; environment?: string } {
  const { name, environment } = gateway
  return environment === undefined ? { name } : { name, environment }
}

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({})

function requestFacts({ method, host, rawPath, query }: CanonicalRequest): RequestFacts {
  return { method, host, path: rawPath, query: query.length === 0 ? NO_QUERY : Object.fromEntries(query) }
}
