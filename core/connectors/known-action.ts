import { isUnmapped } from '../action/action.ts'
import type { KnownAction } from '../action/spec.ts'
import { toolRisk } from '../action/tool-risk.ts'
import type { BoundConnector } from './registry.ts'

const TOOLS = 'mcp.tools.'

/**
 * Resolves the action type of a submission: first by the catalogue, then by the actions that the agent's connectors
 * declare, then by the form of the name (MCP tools, unmapped requests). Returns null for an unknown type.
 */
export function knownByName(
  type: string,
  catalogue: (type: string) => KnownAction | null,
  connectors: readonly BoundConnector[],
): KnownAction | null {
  return catalogue(type) ?? declared(type, connectors) ?? byForm(type)
}

function declared(type: string, connectors: readonly BoundConnector[]): KnownAction | null {
  for (const { entry, connector } of connectors) {
    const row = entry.actions.find(({ action }) => action === type)
    if (row !== undefined) {
      const { effect, risk, effects = [] } = row
      return { connector: connector.name, effect, risk, effects }
    }
  }
  return null
}

function byForm(type: string): KnownAction | null {
  const connector = type.slice(0, type.indexOf('.'))
  if (type.startsWith(TOOLS)) {
    return { connector: 'mcp', effect: 'write', risk: toolRisk(type.slice(TOOLS.length)) }
  }
  if (!isUnmapped(type)) return null
  const isRead = /\.(get|head)$/.test(type)
  return { connector, effect: isRead ? 'read' : 'write', risk: isRead ? 'medium' : 'high', unmapped: true }
}
