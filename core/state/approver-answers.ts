/** A set of approver groups, as far as counting answers needs it. */
type CountedSet = { readonly distinct: boolean }

/**
 * For each required set the answer that satisfies it, or null while one is missing. `answers[i]` lists the sets that
 * person i may answer for. Without `distinct` one person counts for each of them. With it on any set, one person counts
 * for one set only: a maximum bipartite matching, so that the order of the answers never blocks sets that the same
 * people can satisfy together.
 */
export function satisfiedBy(
  required: readonly CountedSet[],
  answers: ReadonlyArray<readonly number[]>,
): ReadonlyArray<number | null> {
  if (required.some(({ distinct }) => distinct)) return match(required.length, answers)
  return required.map((_, set) => {
    const answer = answers.findIndex((sets) => sets.includes(set))
    return answer < 0 ? null : answer
  })
}

/** Augmenting paths (Kuhn): each answer takes a free set, or moves an earlier answer to another set of its own. */
function match(size: number, answers: ReadonlyArray<readonly number[]>): ReadonlyArray<number | null> {
  const answerOf = new Array<number | null>(size).fill(null)
  const place = (answer: number, tried: Set<number>): boolean => {
    const found = answers[answer]?.find((set) => {
      if (set >= size || tried.has(set)) return false
      tried.add(set)
      const holder = answerOf[set] ?? null
      return holder === null || place(holder, tried)
    })
    if (found !== undefined) answerOf[found] = answer
    return found !== undefined
  }
  for (const answer of answers.keys()) place(answer, new Set())
  return answerOf
}
