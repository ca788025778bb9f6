import type { NameRules } from '../../connectors/names.ts'
import type { EqualityGuard } from '../conditions/equality-guard.ts'
import type { Facts } from '../facts/facts.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ReachingPolicy } from './policy-index.ts'

/** The policies that cover one action, searchable by the facts of a request. */
export type Candidates = {
  /**
   * Returns the policies with a rule that may match, in order of priority. Omits a policy only if each of its rules
   * compares a fact with a text that differs from the fact.
   */
  of(facts: Facts): readonly ReachingPolicy[]
  /**
   * Texts of condition programs that occur in more than one condition. A decision evaluates each of these programs only
   * once.
   */
  readonly repeated: ReadonlySet<string>
}

/** Below this number of policies, the index costs more time than it saves. */
const MIN_POLICIES = 8

/**
 * Builds an index of policies that all cover the same action. The keys are the constant texts with which their
 * rules compare facts. `rules` are the name equality rules of the action's provider; null for a provider without
 * rules.
 */
export function candidatesOf(reaching: readonly ReachingPolicy[], rules: NameRules | null): Candidates {
  const repeated = repeatedTexts(reaching, rules)
  const all: Candidates = { of: () => reaching, repeated }
  if (reaching.length < MIN_POLICIES) return all
  const guards = reaching.map(({ policy }) => guardsOfRules(policy, rules))
  const fields = fieldsOf(guards)
  const always = placesWhere(guards, (each) => each === null)
  if (always.length * 2 > reaching.length) return all
  return {
    repeated,
    of(facts) {
      const places = new Set(always)
      for (const field of fields) for (const place of placesOf(field, facts)) places.add(place)
      return [...places].sort((a, b) => a - b).flatMap((place) => reaching[place] ?? [])
    },
  }
}

/**
 * A fact that rules compare with constants. `byConstant` has the positions of the policies by constant; `all` has the
 * positions of all policies that compare the fact.
 */
type Field = {
  readonly read: EqualityGuard['read']
  readonly byConstant: Map<string, number[]>
  readonly all: number[]
}

/**
 * Returns the positions of the policies that may match. If the value of the fact is not a text, a comparison may
 * fail with an error, so all policies that compare the fact may match.
 */
function placesOf({ read, byConstant, all }: Field, facts: Facts): readonly number[] {
  const value = read(facts)
  return typeof value === 'string' ? (byConstant.get(value) ?? NO_PLACES) : all
}

const NO_PLACES: readonly number[] = []

/**
 * Returns the equality guards of each rule: comparisons of a fact with a constant text that must hold for the rule to
 * match. Null if a rule has no guard, because such a rule may match any request.
 */
function guardsOfRules(
  { rules }: CompiledPolicy,
  names: NameRules | null,
): readonly (readonly EqualityGuard[])[] | null {
  const each = rules.map(({ conditions }) =>
    conditions.flatMap((condition) => condition.programFor(names).guards),
  )
  return each.some((guards) => guards.length === 0) ? null : each
}

/**
 * Builds the index. If a rule compares several facts with constants, the index uses the one of these facts that all
 * rules together compare with the most constants.
 */
function fieldsOf(guards: readonly ReturnType<typeof guardsOfRules>[]): readonly Field[] {
  const constants = new Map<string, Set<string>>()
  for (const { fact, constant } of guards.flatMap((each) => each ?? []).flat())
    constants.set(fact, (constants.get(fact) ?? new Set()).add(constant))
  const count = ({ fact }: EqualityGuard): number => constants.get(fact)?.size ?? 0
  const fields = new Map<string, Field>()
  guards.forEach((rules, place) => {
    for (const rule of rules ?? []) {
      const best = rule.reduce((a, b) => (count(b) > count(a) ? b : a))
      const field: Field = fields.get(best.fact) ?? { read: best.read, byConstant: new Map(), all: [] }
      fields.set(best.fact, field)
      field.all.push(place)
      const places = field.byConstant.get(best.constant) ?? []
      places.push(place)
      field.byConstant.set(best.constant, places)
    }
  })
  return [...fields.values()]
}

function placesWhere<T>(items: readonly T[], isWanted: (item: T) => boolean): readonly number[] {
  return items.flatMap((item, place) => (isWanted(item) ? [place] : []))
}

function repeatedTexts(reaching: readonly ReachingPolicy[], names: NameRules | null): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { policy } of reaching) {
    for (const condition of policy.rules.flatMap(({ conditions }) => conditions)) {
      const { text } = condition.programFor(names)
      if (seen.has(text)) repeated.add(text)
      seen.add(text)
    }
  }
  return repeated
}
