import type { RiskLevel } from './action.ts'

const HIGH = ['delete', 'remove', 'drop', 'execute', 'run', 'deploy', 'shell']
const MEDIUM = ['create', 'write', 'send', 'update', 'post']
const LOW = new Set(['read', 'get', 'list', 'search', 'fetch'])

/**
 * Returns the risk of an MCP tool by its name (spec 4.1). High-risk and medium-risk words count anywhere in the name.
 * Low-risk words count only as whole words, so that `get` does not match `target_system`. The highest matching risk
 * applies; the default is medium.
 */
export function toolRisk(name: string): RiskLevel {
  const lower = name.toLowerCase()
  if (HIGH.some((word) => lower.includes(word))) return 'high'
  if (MEDIUM.some((word) => lower.includes(word))) return 'medium'
  return words(name).some((word) => LOW.has(word)) ? 'low' : 'medium'
}

/** Splits `get_issue`, `get-issue`, `getIssue`, `GetHTTPStatus` into words in lower case. */
function words(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}
