import type { PermissionEntry } from '../../wire/gateway/sync.ts'

/** Reports whether the agents of a permission (`*`, a name, or a prefix of names with `*` at the end) include the agent. */
export function coversAgent(pattern: string, agent: string): boolean {
  return pattern === agent || (isPrefix(pattern) && agent.startsWith(pattern.slice(0, -1)))
}

/** Reports whether the pattern is a prefix with `*` at the end, or `*`. */
export function isPrefix(pattern: string): boolean {
  return pattern.endsWith('*')
}

/**
 * Returns the fields of a `PermissionEntry` for these agents. A gateway without support of `agentPrefix` denies what the
 * permission decides for `agent`, which covers at least the same agents.
 */
export function agentFields(pattern: string): Pick<PermissionEntry, 'agent' | 'agentPrefix'> {
  if (!isPrefix(pattern) || pattern === '*' || pattern.endsWith('/*')) return { agent: pattern }
  const namespace = pattern.slice(0, pattern.indexOf('/') + 1)
  return { agent: `${namespace}*`, agentPrefix: pattern.slice(0, -1) }
}

/** Returns the agents of a permission, from the fields of `agentFields`. */
export function agentsOf({ agent, agentPrefix }: Pick<PermissionEntry, 'agent' | 'agentPrefix'>): string {
  return agentPrefix === undefined ? agent : `${agentPrefix}*`
}
