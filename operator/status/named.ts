/** Maximum number of pods, processes and agents that a text names. */
const NAMED = 5

/**
 * Returns the first names as text. The text does not count the omitted names, because every change of a status text is
 * a write to the API server.
 */
export function some(names: readonly string[], separator = ', '): string {
  const shown = [...names].sort().slice(0, NAMED).join(separator)
  return names.length > NAMED ? `${shown}${separator}and others` : shown
}
