import { isUnmapped } from '../action/action.ts'
import type { EffectClass } from '../action/effect-class.ts'
import type { KnownAction } from '../action/spec.ts'
import { toolRisk } from '../action/tool-risk.ts'
import { toolName } from './mcp/names.ts'
import { declaredToolEffects } from './mcp/tool-effects.ts'
import type { BoundConnector } from './registry.ts'

const TOOLS = 'mcp.tools.'

/**
 * Returns the effect and the risk of a submitted action by its type: from the catalogue, else from the actions that the
 * agent's connectors declare, else from the form of the name (MCP tools, unmapped requests). Returns null for an
 * unknown type.
 */
export function knownByName(
  type: string,
  catalogue: (type: string) => KnownAction | null,
  connectors: readonly BoundConnector[],
): KnownAction | null {
  return catalogue(type) ?? declared(type, connectors) ?? byForm(type, connectors)
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

function byForm(type: string, connectors: readonly BoundConnector[]): KnownAction | null {
  const connector = type.slice(0, type.indexOf('.'))
  if (type.startsWith(TOOLS)) {
    const risk = toolRisk(type.slice(TOOLS.length))
    return { connector: 'mcp', effect: 'write', risk, effects: toolEffects(type, connectors) }
  }
  if (!isUnmapped(type)) return null
  const isRead = /\.(get|head)$/.test(type)
  return { connector, effect: isRead ? 'read' : 'write', risk: isRead ? 'medium' : 'high', unmapped: true }
}

/** Returns the effect classes that the MCP Connectors declare for the tool; undefined if they declare none. */
function toolEffects(
  type: string,
  connectors: readonly BoundConnector[],
): readonly EffectClass[] | undefined {
  const name = toolName(type)
  if (name === null) return undefined
  const tools = connectors.flatMap(({ config }) => config.mcpTools ?? [])
  return declaredToolEffects(tools, name)
}
