/** Set of approver groups, reduced to the field that counting needs. */
type CountedSet = { readonly distinct: boolean }

/**
 * Returns, for each required set, the index of the answer that satisfies it; null if there is none. `answers[i]` lists
 * the indexes of the sets that approver i may answer for. Without `distinct`, one approver counts for all of these
 * sets. If any set has `distinct`, one approver counts for only one set. The result is then a maximum bipartite
 * matching, so that the order of answers never prevents a possible assignment. Answers that may be of the same person
 * (`areTwo` is false) count as one.
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

/**
 * Assigns answers to sets by augmenting paths (Kuhn's algorithm). Each answer takes a free set, or moves an earlier
 * answer to another of its sets.
 */
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

/**
 * Maximum number of steps, each of which tries one answer for one set. After the maximum, the best assignment so far
 * counts.
 */
const MAX_STEPS = 100_000

type Chosen = ReadonlyArray<number | null>

/** Returns the largest assignment in which all answers are of different approvers. */
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
