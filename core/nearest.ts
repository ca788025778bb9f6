/**
 * Returns the text of `candidates` with the smallest edit distance to a mistyped word; undefined if none is similar
 * enough.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({
      candidate,
      distance: candidate.startsWith(word) ? 1 : editDistance(word, candidate),
    }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(2, Math.floor(word.length / 3))
    ? best.candidate
    : undefined
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}

/** Returns the texts of `candidates` that resemble the word, best first, at most `most`. */
export function nearestNames(word: string, candidates: readonly string[], most: number): readonly string[] {
  const found: string[] = []
  let left = [...new Set(candidates)]
  while (found.length < most) {
    const best = nearest(word, left)
    if (best === undefined) return found
    found.push(best)
    left = left.filter((candidate) => candidate !== best)
  }
  return found
}
