import { actionFromSpec, type KnownAction } from '../action/spec.ts'
import { createCatalogue } from '../connectors/catalogue.ts'
import { knownByName } from '../connectors/known-action.ts'
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

/** Number of actions that one slice of the generator decides. */
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
 * Decides an action by its name, without a request. The decision about a request may differ, because conditions read
 * the parameters, header fields and path of a request. `no_connector`: the gateway has no Connector of the type.
 * `unknown_action`: neither the catalogue nor the Connector has the action.
 */
export function decideByName(question: NamedQuestion): NamedAnswer | 'no_connector' | 'unknown_action' {
  const { snapshot, type } = question
  const bound = connectorOfType(snapshot, providerOf(type), type)
  if (bound === null) return 'no_connector'
  return knownAction(type, bound) === null ? 'unknown_action' : answerAt(bound, question)
}

function knownAction(type: string, bound: BoundConnector): KnownAction | null {
  return knownByName(type, catalogue().knownAction, [bound])
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
  const action = actionFromSpec({ type, resource }, knownAction(type, bound))
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

/** Returns the Connector of the type that declares the action; if none does, the first Connector of the type. */
function connectorOfType({ hosts }: Snapshot, type: string, action?: string): BoundConnector | null {
  const owners = [hosts.exact, hosts.wildcards].flatMap((index) => [...index.values()].flat())
  const ofType = owners.filter(({ bound }) => bound.connector.name === type)
  const declares = ({ bound }: (typeof ofType)[number]) =>
    bound.entry.actions.some((row) => row.action === action)
  return (ofType.find(declares) ?? ofType[0])?.bound ?? null
}

function named({ name, environment }: { readonly name: string; readonly environment?: string | undefined }) {
  return environment === undefined ? { name } : { name, environment }
}
