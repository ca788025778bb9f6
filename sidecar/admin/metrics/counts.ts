export function bump(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1)
}

export function bumpIn(counters: Map<string, Map<string, number>>, outer: string, key: string): void {
  const inner = counters.get(outer) ?? new Map<string, number>()
  counters.set(outer, inner)
  bump(inner, key)
}
