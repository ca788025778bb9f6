import { fold } from '../../action/pattern.ts'
import type { NameRules } from '../../connectors/names.ts'
import { type CompiledPolicy, type Reach, reachOf } from './compiled-policy.ts'
import { type Candidates, candidatesOf } from './policy-candidates.ts'

/** Policy whose patterns cover an action, and the extent to which they cover it. */
export type ReachingPolicy = { readonly policy: CompiledPolicy; readonly reach: Exclude<Reach, 'none'> }

/**
 * Index of all policies of a gateway by the actions in their scopes. The index does not consider agents, connectors and
 * environments in a scope; each decision checks these.
 */
export type PolicyIndex = {
  /** All policies in order of priority, highest first. Policies with equal priority are in order of their ids. */
  readonly all: readonly CompiledPolicy[]
  /**
   * Returns the policies whose patterns cover the action, in order of priority. The cost depends on the number of
   * matches, not of policies.
   */
  matching(actionType: string): readonly CompiledPolicy[]
  /** Returns the policies whose patterns cover the action, each with the extent to which they cover it. */
  reaching(actionType: string): readonly ReachingPolicy[]
  /**
   * Returns the policies that cover the action, indexed by the texts with which their rules compare facts. `rules`
   * are the name equality rules of the action's connector type.
   */
  candidates(actionType: string, rules: NameRules | null): Candidates
}

/** Maximum number of action names with cached results. Agents choose names, so the cache is bounded. */
const MAX_REMEMBERED = 4_096
/** Maximum number of policies in all cached results together. Results with the same policies count once. */
const MAX_REMEMBERED_POLICIES = 131_072

export function buildPolicyIndex(policies: readonly CompiledPolicy[]): PolicyIndex {
  const all = [...policies].sort(byPriority)
  const tables = tablesOf(all)
  const remembered = new Map<string, Covering>()
  const sets = new Map<string, Covering>()
  let held = 0
  const covering = (actionType: string): Covering => {
    const known = remembered.get(actionType)
    if (known !== undefined) return known
    const found = find(tables, fold(actionType)).flatMap((place) => reachingOf(all, place, actionType))
    // Many actions are covered by the same policies. Such actions share one index.
    const key = found.map(({ place, reach }) => `${place} ${reach}`).join()
    const shared = sets.get(key)
    const added = shared === undefined ? found.length : 0
    if (remembered.size >= MAX_REMEMBERED || held + added > MAX_REMEMBERED_POLICIES) {
      remembered.clear()
      sets.clear()
      held = 0
    }
    const set = shared ?? { reaching: found, candidates: new Map() }
    if (!sets.has(key)) held += set.reaching.length
    sets.set(key, set)
    remembered.set(actionType, set)
    return set
  }
  return {
    all,
    reaching: (actionType) => covering(actionType).reaching,
    matching: (actionType) => covering(actionType).reaching.map(({ policy }) => policy),
    candidates(actionType, rules) {
      const { reaching, candidates } = covering(actionType)
      const found = candidates.get(rules) ?? candidatesOf(reaching, rules)
      candidates.set(rules, found)
      return found
    },
  }
}

/**
 * Policies that cover an action, with the indexes that were built so far: one for the name equality rules of each
 * provider.
 */
type Covering = {
  readonly reaching: readonly ReachingPolicy[]
  readonly candidates: Map<NameRules | null, Candidates>
}

type Found = ReachingPolicy & { readonly place: number }

function reachingOf(all: readonly CompiledPolicy[], place: number, actionType: string): Found[] {
  const policy = all[place]
  const reach = policy === undefined ? 'none' : reachOf(policy, actionType)
  return policy === undefined || reach === 'none' ? [] : [{ policy, reach, place }]
}

/** Indexes into `all`, keyed by the pattern's text without case. `reachOf` then compares the exact text. */
type Tables = {
  readonly exact: ReadonlyMap<string, readonly number[]>
  readonly prefixes: ReadonlyMap<string, readonly number[]>
  /** Distinct lengths of the keys of `prefixes`, so that a search tries only prefixes of these lengths. */
  readonly lengths: readonly number[]
}

function tablesOf(all: readonly CompiledPolicy[]): Tables {
  const exact = new Map<string, number[]>()
  const prefixes = new Map<string, number[]>()
  all.forEach((policy, place) => {
    for (const pattern of policy.patterns) {
      const table = pattern.isExact ? exact : prefixes
      const key = fold(pattern.prefix)
      table.set(key, [...(table.get(key) ?? []), place])
    }
  })
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))]
  return { exact, prefixes, lengths }
}

function find(tables: Tables, type: string): readonly number[] {
  const places = new Set(tables.exact.get(type))
  for (const length of tables.lengths) {
    if (length > type.length) continue
    for (const place of tables.prefixes.get(type.slice(0, length)) ?? []) places.add(place)
  }
  return [...places].sort((a, b) => a - b)
}

function byPriority(a: CompiledPolicy, b: CompiledPolicy): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  if (a.id === b.id) return 0
  return a.id < b.id ? -1 : 1
}
