import { actionFromSpec } from '../action/spec.ts'
import { createCatalogue } from '../connectors/catalogue.ts'
import { once } from '../connectors/once.ts'
import type { BoundConnector } from '../connectors/registry.ts'
import type { Sliced } from '../sliced.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { decide } from './decide.ts'
import type { AgentFacts, Decision, DecisionInput } from './decision.ts'
import { withCredential } from './proxied.ts'

export type NamedQuestion = {
  readonly snapshot: Snapshot
  readonly agent: AgentFacts
  readonly type: string
  readonly target?: string | undefined
  readonly nowMs: number
}

export type NamedAnswer = {
  readonly input: DecisionInput
  readonly bound: BoundConnector
  readonly decision: Decision
}

const catalogue = once(() => createCatalogue())

/** Actions that one slice decides. */
const ACTIONS_PER_SLICE = 32

/** Returns the names of the catalogue's actions of a connector type, in alphabetical order. */
function namesOfType(type: string): readonly string[] {
  return [
    ...new Set(
      catalogue()
        .rows(type)
        .map((row) => row.type),
    ),
  ].sort()
}

/**
 * Decides an action by its name, before any request exists. The request may be decided otherwise, because conditions read
 * its parameters, header fields and path. Null if the gateway has no Connector of the type.
 */
export function decideByName(question: NamedQuestion): NamedAnswer | null {
  const bound = connectorOfType(question.snapshot, providerOf(question.type))
  return bound === null ? null : answerAt(bound, question)
}

/**
 * Decides every named action of a connector type, in alphabetical order of the names. Empty if the gateway has no
 * Connector of the type, or the type has no named actions.
 */
export function* decideNamesOfType(
  question: Omit<NamedQuestion, 'type' | 'target'> & { readonly connectorType: string },
): Sliced<readonly NamedAnswer[]> {
  const bound = connectorOfType(question.snapshot, question.connectorType)
  const answers: NamedAnswer[] = []
  if (bound === null) return answers
  for (const type of namesOfType(question.connectorType)) {
    if (answers.length > 0 && answers.length % ACTIONS_PER_SLICE === 0) yield
    answers.push(answerAt(bound, { ...question, type }))
  }
  return answers
}

function providerOf(type: string): string {
  return type.split('.', 1)[0] ?? type
}

function answerAt(
  bound: BoundConnector,
  { snapshot, agent, type, target, nowMs }: NamedQuestion,
): NamedAnswer {
  const provider = providerOf(type)
  const resource = target === undefined ? { provider } : { provider, target }
  const action = actionFromSpec({ type, resource }, catalogue().knownAction(type))
  const { id, name, environment, runtime, status } = agent
  const { permissions, policies, gateway } = snapshot
  const rules = { permissions, policies, level: gateway.level, defaultVerdict: gateway.defaultVerdict }
  const method = action.effect === 'read' ? 'GET' : 'POST'
  const input: DecisionInput = {
    action,
    agent: { id, name, environment, runtime, status },
    gateway: named(gateway),
    connector: { ...named(bound.entry), type: bound.connector.name },
    request: { method, host: bound.entry.domains[0] ?? '', path: '/', raw_path: '/', query: {} },
    nowMs,
  }
  return { input, bound, decision: withCredential(decide(rules, input), bound, snapshot) }
}

function connectorOfType({ hosts }: Snapshot, type: string): BoundConnector | null {
  for (const index of [hosts.exact, hosts.wildcards])
    for (const owners of index.values())
      for (const { bound } of owners) if (bound.connector.name === type) return bound
  return null
}

function named({ name, environment }: { readonly name: string; readonly environment?: string | undefined }) {
  return environment === undefined ? { name } : { name, environment }
}
