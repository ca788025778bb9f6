/** A set of approver groups, as far as counting answers needs it. */
type CountedSet = { readonly distinct: boolean }

/**
 * For each required set the answer that satisfies it, or null while one is missing. `answers[i]` lists the sets that
 * person i may answer for. Without `distinct` one person counts for each of them. With it on any set, one person counts
 * for one set only: a maximum bipartite matching, so that the order of the answers never blocks sets that the same
 * people can satisfy together. Answers that are not surely of two people (`areTwo`) count as one.
 */
export function satisfiedBy(
  required: readonly CountedSet[],
  answers: ReadonlyArray<readonly number[]>,
  areTwo: (answer: number, other: number) => boolean = () => true,
): ReadonlyArray<number | null> {
  if (required.some(({ distinct }) => distinct)) {
    const areAllApart = answers.every((_, a) => answers.every((_other, b) => a === b || areTwo(a, b)))
    return areAllApart ? match(required.length, answers) : search(required.length, answers, areTwo)
  }
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

/** Of sets and answers that are tried; beyond it the best that was found counts. */
const MAX_STEPS = 100_000

type Chosen = ReadonlyArray<number | null>

/** As many sets as can be given answers of which each two are of two people. */
function search(
  size: number,
  answers: ReadonlyArray<readonly number[]>,
  areTwo: (answer: number, other: number) => boolean,
): Chosen {
  let best = { chosen: new Array<null>(size).fill(null) as Chosen, count: 0 }
  let steps = 0
  const isFree = (chosen: Chosen, answer: number) =>
    chosen.every((other) => other === null || (other !== answer && areTwo(answer, other)))
  const possible = (chosen: Chosen) =>
    [...answers.keys()].filter(
      (answer) => answers[answer]?.includes(chosen.length) === true && isFree(chosen, answer),
    )
  const extend = (chosen: Chosen, count: number): void => {
    steps += 1
    const left = size - chosen.length
    if (count > best.count) best = { chosen: [...chosen, ...new Array<null>(left).fill(null)], count }
    if (steps > MAX_STEPS || count + left <= best.count) return
    for (const answer of possible(chosen)) extend([...chosen, answer], count + 1)
    extend([...chosen, null], count)
  }
  extend([], 0)
  return best.chosen
}
