import type { Action } from '../../../core/action/action.ts'
import {
  type LookUp,
  type LookUpPlace,
  type LookUps,
  MAX_LOOK_UPS,
} from '../../../core/connectors/binding/look-up.ts'
import { hasUnknownTarget } from '../../../core/connectors/binding/target-by-id.ts'
import type { Named } from '../../../core/connectors/connector.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { areEffectsRead } from '../body/body-facts.ts'
import { decideNow, decideWithBody } from '../classification/exchange-decision.ts'
import { lookUpContextOf } from '../look-up-context.ts'
import type { Classified } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import type { Stage } from '../stage.ts'

/**
 * Creates the stage that reads missing facts from the provider, for example the owner of an id, or whether a number is
 * a pull request. The stage sends a look-up only when the decision or the approval card depends on the answer. It sends
 * none for a request that is allowed, or denied, regardless of the answer.
 */
export function createLookUp(ports: Pick<PipelinePorts, 'lookUps' | 'clock'>): Stage<Classified, Classified> {
  return {
    name: 'look-up',
    isQuick: true,
    run(exchange) {
      const { lookUps } = exchange.connector.connector
      if (lookUps === undefined || isAnnounced(exchange.named)) return exchange
      const named = withoutUnreadEffects(exchange, exchange.named)
      return actionsOf(named).some(isOpen) ? settle(exchange, { ports, lookUps, named }) : exchange
    },
  }
}

function isOpen(action: Action): boolean {
  return action.isPossible === true || hasPossibleEffects(action) || hasUnknownTarget(action)
}

function hasPossibleEffects({ possibleEffects }: Action): boolean {
  return possibleEffects !== undefined
}

/** Removes possible effect classes where no rule reads effect classes. The decision is the same without them. */
function withoutUnreadEffects(exchange: Classified, named: Named): Named {
  if (!actionsOf(named).some(hasPossibleEffects) || areEffectsRead(exchange, actionsOf(named))) return named
  const without = mapActions(named, (action) => [withoutPossibleEffects(action)])
  exchange.evaluation.named = without
  return without
}

function withoutPossibleEffects({ possibleEffects: _possible, ...rest }: Action): Action {
  return rest
}

/** Returns true for a classification that is provisional until the body arrives. */
function isAnnounced(named: Named): boolean {
  return named.kind === 'actions' && named.announces !== undefined
}

type Given = {
  readonly ports: Pick<PipelinePorts, 'lookUps' | 'clock'>
  readonly lookUps: LookUps
  readonly named: Named
}

function settle(exchange: Classified, given: Given): Classified | Promise<Classified> {
  const { ports, lookUps, named } = given
  const nowMs = ports.clock.nowMs()
  const decision = exchange.decision ?? decideNow(exchange, nowMs)
  exchange.evaluation.decision = decision
  const certain = withoutPossible(named)
  const decisionOfCertain = isSettled(decision, named) ? decision : decideWithBody(exchange, certain, nowMs)
  if (!matters(exchange, decisionOfCertain, { decision, named })) {
    exchange.evaluation.decision = decisionOfCertain
    exchange.evaluation.named = certain
    return exchange
  }
  const questions = questionsOf(actionsOf(named), lookUps, placeOf(exchange))
  const isUnanswered = questions.length === 0 && !actionsOf(named).some(hasPossibleEffects)
  return isUnanswered ? exchange : ask(exchange, questions, given)
}

/**
 * Returns true when the decision does not depend on actions and effect classes that are possible but not certain. A
 * further action can only tighten a decision; an effect class can also relax it.
 */
function isSettled({ verdict }: Decision, named: Named): boolean {
  const actions = actionsOf(named)
  if (actions.some(hasPossibleEffects)) return false
  return verdict === 'allow' || !actions.some(({ isPossible }) => isPossible === true)
}

function placeOf(exchange: Classified): LookUpPlace {
  const { request, bound } = lookUpContextOf(exchange)
  return { request, config: bound.config, agentTriggers: bound.entry.agentTriggers }
}

type Decided = { readonly decision: Decision; readonly named: Named }

/**
 * Returns true when the answer of a look-up can change the decision or the approval card. `certain` is the decision
 * without the actions and effect classes that are possible but not certain.
 */
function matters(exchange: Classified, certain: Decision, { decision, named }: Decided): boolean {
  if (isAllowed(decision) && isAllowed(certain)) return false
  if (decision.verdict !== 'deny' || certain.verdict !== 'deny') return true
  return actionsOf(named).some(
    (action) => hasUnknownTarget(action) && asksForTarget(exchange.snapshot, action),
  )
}

function isAllowed({ verdict, would }: Decision): boolean {
  return verdict === 'allow' && would === 'allow'
}

/**
 * Returns true when a policy condition mentions `resource`. A match inside a string literal causes an unnecessary
 * look-up, but changes no decision.
 */
function asksForTarget(snapshot: Snapshot, { type }: Action): boolean {
  const policies = snapshot.policies.matching(type)
  return policies.some(({ rules }) =>
    rules.some(({ conditions }) => conditions.some(({ text }) => /\bresource\b/.test(text))),
  )
}

/**
 * Returns the look-ups for the actions without duplicates. An action whose look-ups would exceed the limit gets none,
 * and its facts stay unknown.
 */
function questionsOf(actions: readonly Action[], lookUps: LookUps, place: LookUpPlace): readonly LookUp[] {
  const questions = new Map<string, LookUp>()
  for (const action of actions) {
    const own = lookUps.of(action, place)
    const added = new Map(own.map((lookUp) => [keyOf(lookUp), lookUp]))
    const all = new Map([...questions, ...added])
    if (all.size <= MAX_LOOK_UPS) for (const [key, lookUp] of added) questions.set(key, lookUp)
  }
  return [...questions.values()]
}

function keyOf({ method, host, target, body = '' }: LookUp): string {
  return JSON.stringify([method, host, target, body])
}

async function ask(exchange: Classified, questions: readonly LookUp[], given: Given): Promise<Classified> {
  const { ports, lookUps, named } = given
  const asking = lookUpContextOf(exchange)
  const answers = new Map(
    await Promise.all(
      questions.map(async (lookUp) => [keyOf(lookUp), await ports.lookUps.ask(asking, lookUp)] as const),
    ),
  )
  const place = placeOf(exchange)
  const complete = (action: Action): readonly Action[] => {
    const own = lookUps.of(action, place)
    const known = own.map((lookUp) => ({ lookUp, values: answers.get(keyOf(lookUp)) ?? null }))
    const completed = lookUps.complete(action, known, place)
    return completed === null ? [] : [completed]
  }
  exchange.evaluation.named = mapActions(named, complete)
  exchange.evaluation.provisional = undefined
  exchange.evaluation.decision = undefined
  return exchange
}

function withoutPossible(named: Named): Named {
  return mapActions(named, (action) => (action.isPossible === true ? [] : [withoutPossibleEffects(action)]))
}

function mapActions(named: Named, change: (action: Action) => readonly Action[]): Named {
  return named.kind === 'actions'
    ? { ...named, actions: named.actions.flatMap(change) }
    : { ...named, candidates: named.candidates.flatMap(change) }
}
