import type { RequiredGroupsView } from '../../wire/gateway/internal.ts'

/**
 * Set of approver groups that one rule requires. An approver in any one of the groups is sufficient. If `groups` is
 * empty, any approver is sufficient.
 */
export type RequiredGroups = {
  readonly policyId: string
  /** Name of the policy that requires the groups. */
  readonly policy: string
  readonly groups: readonly string[]
  /**
   * True if one approver counts for only one set. If `distinct` is true in one set of a request, it applies to all sets
   * of the request.
   */
  readonly distinct: boolean
}

/**
 * Removes duplicate sets. A policy that holds two actions of one request with the same groups requires the groups
 * once.
 */
export function uniqueRequired(sets: readonly RequiredGroups[]): readonly RequiredGroups[] {
  const keyed = sets.map((set) => [JSON.stringify([set.policyId, set.groups, set.distinct]), set] as const)
  const unique = new Map<string, RequiredGroups>()
  for (const [key, set] of keyed) if (!unique.has(key)) unique.set(key, set)
  return [...unique.values()]
}

/** Converts the sets to the form in API responses about approvals. */
export function requiredView(sets: readonly RequiredGroups[]): RequiredGroupsView[] {
  return sets.map(({ policy, groups, distinct }) => ({ policy, groups: [...groups], distinct }))
}

/** Returns the distinct group names of all sets. */
export function groupNames(sets: ReadonlyArray<Pick<RequiredGroups, 'groups'>>): string[] {
  return [...new Set(sets.flatMap(({ groups }) => groups))]
}

/** Returns a text such as `release and (finance or audit), different users`; empty if any approver is sufficient. */
export function requiredText(sets: ReadonlyArray<Pick<RequiredGroups, 'groups' | 'distinct'>>): string {
  const isDistinct = sets.length > 1 && sets.some(({ distinct }) => distinct)
  const shown = isDistinct ? sets : sets.filter(({ groups }) => groups.length > 0)
  const texts = shown.map(({ groups }) => groupsText(groups, shown.length > 1))
  return isDistinct ? `${texts.join(' and ')}, different users` : [...new Set(texts)].join(' and ')
}

function groupsText(groups: readonly string[], isOneOfMany: boolean): string {
  if (groups.length === 0) return 'any approver'
  return groups.length > 1 && isOneOfMany ? `(${groups.join(' or ')})` : groups.join(' or ')
}
