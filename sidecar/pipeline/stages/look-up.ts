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
import { decideNow, decideWithBody } from '../classification/exchange-decision.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { lookUpContextOf } from '../look-up-context.ts'
import type { PipelinePorts } from '../ports.ts'

/**
 * Creates the stage that reads missing facts from the provider, for example the owner of an id, or whether a number is
 * a pull request. The stage sends look-ups only when the decision or the approval card depends on the answer. Unknown
 * facts can only make a decision stricter, so an allowed request needs no look-up. For a request that is denied with
 * any answer, no look-up is sent either.
 */
export function createLookUp(ports: Pick<PipelinePorts, 'lookUps' | 'clock'>): Stage {
  return {
    name: 'look-up',
    run(exchange) {
      const { connector, named } = exchange
      const lookUps = connector?.connector.lookUps
      if (lookUps === undefined || named === undefined || isAnnounced(named)) return 'continue'
      const isOpen = actionsOf(named).some((action) => action.isPossible === true || hasUnknownTarget(action))
      return isOpen ? settle(exchange, { ports, lookUps, named }) : 'continue'
    },
  }
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

function settle(exchange: Exchange, given: Given): StageResult | Promise<StageResult> {
  const { ports, lookUps, named } = given
  const nowMs = ports.clock.nowMs()
  const decision = exchange.decision ?? decideNow(exchange, nowMs)
  exchange.decision = decision
  const certain = withoutPossible(named)
  const isSame = actionsOf(certain).length === actionsOf(named).length
  const decisionOfCertain =
    isSame || decision.verdict === 'allow' ? decision : decideWithBody(exchange, certain, nowMs)
  if (!matters(exchange, decisionOfCertain, { decision, named })) {
    exchange.decision = decisionOfCertain
    nameAs(exchange, certain)
    return 'continue'
  }
  const place = placeOf(exchange)
  const questions = place === null ? [] : questionsOf(actionsOf(named), lookUps, place)
  return questions.length === 0 ? 'continue' : ask(exchange, questions, given)
}

function placeOf({ request, connector }: Exchange): LookUpPlace | null {
  return request === undefined || connector === undefined ? null : { request, config: connector.config }
}

type Decided = { readonly decision: Decision; readonly named: Named }

/**
 * Returns true when the answer of a look-up can change the decision or the approval card. `certain` is the decision
 * without the actions that are only possible.
 */
function matters(exchange: Exchange, certain: Decision, { decision, named }: Decided): boolean {
  if (decision.verdict === 'allow' && decision.would === 'allow') return false
  if (decision.verdict !== 'deny' || certain.verdict !== 'deny') return true
  return actionsOf(named).some(
    (action) => hasUnknownTarget(action) && asksForTarget(exchange.snapshot, action),
  )
}

/**
 * Returns true when a policy condition mentions `resource`. A match inside a string literal causes an unnecessary
 * look-up, but changes no decision.
 */
function asksForTarget(snapshot: Snapshot | undefined, { type }: Action): boolean {
  const policies = snapshot?.policies.matching(type) ?? []
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

async function ask(exchange: Exchange, questions: readonly LookUp[], given: Given): Promise<StageResult> {
  const { ports, lookUps, named } = given
  const asking = lookUpContextOf(exchange)
  const answers = new Map(
    await Promise.all(
      questions.map(async (lookUp) => [keyOf(lookUp), await ports.lookUps.ask(asking, lookUp)] as const),
    ),
  )
  const place = { request: asking.request, config: asking.bound.config }
  const complete = (action: Action): readonly Action[] => {
    const own = lookUps.of(action, place)
    const known = own.map((lookUp) => ({ lookUp, values: answers.get(keyOf(lookUp)) ?? null }))
    const completed = lookUps.complete(action, known)
    return completed === null ? [] : [completed]
  }
  nameAs(exchange, mapActions(named, complete))
  exchange.provisional = undefined
  exchange.decision = undefined
  return 'continue'
}

function withoutPossible(named: Named): Named {
  return mapActions(named, (action) => (action.isPossible === true ? [] : [action]))
}

function mapActions(named: Named, change: (action: Action) => readonly Action[]): Named {
  return named.kind === 'actions'
    ? { ...named, actions: named.actions.flatMap(change) }
    : { ...named, candidates: named.candidates.flatMap(change) }
}

function nameAs(exchange: Exchange, named: Named): void {
  exchange.named = named
  exchange.actions = actionsOf(named)
}
