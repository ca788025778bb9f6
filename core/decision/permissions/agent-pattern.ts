/**
 * Reports whether the agents of a permission (`*`, a name, or a prefix of names with `*` at the end) include the agent.
 */
export function coversAgent(pattern: string, agent: string): boolean {
  return pattern === agent || (isPrefix(pattern) && agent.startsWith(pattern.slice(0, -1)))
}

/** Reports whether the pattern is a prefix with `*` at the end, or `*`. */
export function isPrefix(pattern: string): boolean {
  return pattern.endsWith('*')
}
