import type { NameRules } from '../../connectors/names.ts'
import type { EqualityGuard } from '../conditions/equality-guard.ts'
import type { Facts } from '../facts/facts.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ReachingPolicy } from './policy-index.ts'

/** Policies that can have a result for one action, with what one decision needs to evaluate them. */
export type Candidates = {
  /**
   * Returns the policies of which a rule may match, in order of priority. Leaves out a policy only if each of its rules
   * compares a fact with another text than the request has.
   */
  of(facts: Facts): readonly ReachingPolicy[]
  /** Texts of the programs that several conditions have. A decision evaluates each of them once. */
  readonly repeated: ReadonlySet<string>
}

/** Number of policies up to which comparing facts first costs more than it saves. */
const MIN_POLICIES = 8

/**
 * Indexes policies that all cover the same action by the constant texts with which their rules compare facts. `rules`
 * are the name equality rules of the action's provider; null for a provider without rules.
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

/** Fact with which rules are compared, and the places of their policies by the constant. */
type Field = {
  readonly read: EqualityGuard['read']
  readonly byConstant: Map<string, number[]>
  readonly all: number[]
}

/** If the fact has no text, its comparisons may fail with an error, so all policies that read it are candidates. */
function placesOf({ read, byConstant, all }: Field, facts: Facts): readonly number[] {
  const value = read(facts)
  return typeof value === 'string' ? (byConstant.get(value) ?? NO_PLACES) : all
}

const NO_PLACES: readonly number[] = []

/** Returns the guards of each rule of the policy; null if a rule has none, because that rule may always match. */
function guardsOfRules(
  { rules }: CompiledPolicy,
  names: NameRules | null,
): readonly (readonly EqualityGuard[])[] | null {
  const each = rules.map(({ conditions }) =>
    conditions.flatMap((condition) => condition.programFor(names).guards),
  )
  return each.some((guards) => guards.length === 0) ? null : each
}

/** Builds the index. A rule with several guards is indexed by the fact that is compared with the most constants. */
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
