import type { EffectClass } from '../../action/effect-class.ts'
import { matchesPattern, parsePattern } from '../../action/pattern.ts'

/** Effect classes that a Connector declares for a tool of an MCP server, or for tools with a prefix (`delete_*`). */
export type McpTool = { readonly name: string; readonly effects: readonly EffectClass[] }

/**
 * Returns the effect classes that a Connector declares for a tool; undefined if it declares none. The annotations
 * of the MCP server itself, such as `destructiveHint`, do not count, because the server is not trusted.
 */
export function declaredToolEffects(
  tools: readonly McpTool[] | undefined,
  name: string,
): readonly EffectClass[] | undefined {
  if (tools === undefined) return undefined
  const effects = tools
    .filter((tool) => matchesPattern(parsePattern(tool.name), name, 'tighten'))
    .flatMap((tool) => tool.effects)
  return effects.length === 0 ? undefined : [...new Set(effects)]
}
