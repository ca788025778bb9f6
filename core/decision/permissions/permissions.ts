import { fold, wildcardMayAllow } from '../../action/pattern.ts'
import { coversAgent } from './agent-pattern.ts'
import {
  type Chain,
  effectKey,
  type Link,
  type Node,
  type PermissionIndex,
  type PermissionMatch,
} from './permission-index.ts'

/**
 * Maximum number of cached search results; a full cache is cleared. Agents can choose action names (MCP tools), so the
 * cache needs a bound.
 */
const MAX_REMEMBERED = 16_384
/** Maximum number of agents in the cache `covering`; a full cache is cleared. */
const MAX_AGENTS = 16_384

/**
 * Returns the permission that decides, or null. The most specific pattern wins: the exact name, then the longest
 * prefix. At equal specificity, a permission for the agent precedes permissions for prefixes of its name, longest
 * first, and these precede permissions for all agents. Among permissions that are equal in all of this, deny precedes
 * require_approval, which precedes allow.
 */
export function lookupPermission(
  index: PermissionIndex,
  agent: string,
  actionType: string,
): PermissionMatch | null {
  const chain = index.remembered.get(actionType) ?? remember(index, actionType)
  const agents = agentsCovering(index, agent)
  for (const link of chain) {
    const hit = pick(link, agents)
    if (hit !== null) return hit
  }
  return null
}

/**
 * Returns the permission for an effect class on a connector type, or null. A permission for the agent precedes
 * permissions for prefixes of its name, longest first, and these precede permissions for all agents. Among permissions
 * that are equal in this, the strictest decides.
 */
export function lookupEffectPermission(
  index: PermissionIndex,
  agent: string,
  place: { readonly connector: string; readonly effect: string },
): PermissionMatch | null {
  const node = index.effects.get(effectKey(place.connector, place.effect))
  return node === undefined ? null : pick({ allow: node, tighten: node }, agentsCovering(index, agent))
}

/**
 * Reports whether a permission denies this agent any action whose name begins with the prefix (lower case). The cost
 * is one pass over all patterns.
 */
export function deniesWithin(index: PermissionIndex, agent: string, prefix: string): boolean {
  const agents = agentsCovering(index, agent)
  const denies = ({ anyAgent, byAgent }: Node): boolean =>
    [anyAgent, ...agents.map((each) => byAgent?.get(each))].some((slot) => slot?.tighten?.decision === 'deny')
  for (const [name, node] of index.exact) if (name.startsWith(prefix) && denies(node)) return true
  for (const [begin, node] of index.prefixes)
    if ((begin.startsWith(prefix) || prefix.startsWith(begin)) && denies(node)) return true
  const bare = index.bare.get(firstSegment(prefix))
  return bare !== undefined && denies(bare)
}

/** Returns the agent and the prefixes of permissions that cover it, most specific first. */
function agentsCovering(
  { agentPrefixes, covering: known }: PermissionIndex,
  agent: string,
): readonly string[] {
  const found = known.get(agent)
  if (found !== undefined) return found
  const agents = [agent, ...agentPrefixes.filter((prefix) => coversAgent(prefix, agent))]
  if (known.size >= MAX_AGENTS) known.clear()
  known.set(agent, agents)
  return agents
}

function pick({ allow, tighten }: Link, agents: readonly string[]): PermissionMatch | null {
  for (const agent of agents) {
    const match = tighten?.byAgent?.get(agent)?.tighten ?? allow?.byAgent?.get(agent)?.allow
    if (match != null) return match
  }
  return tighten?.anyAgent?.tighten ?? allow?.anyAgent?.allow ?? null
}

function remember(index: PermissionIndex, actionType: string): Chain {
  const links = new Map<number, Link>()
  const linkOf = (rank: number): Link => {
    const link = links.get(rank) ?? { allow: null, tighten: null }
    links.set(rank, link)
    return link
  }
  for (const { rank, node, prefix } of covering(index, actionType)) {
    if (prefix === null || wildcardMayAllow(prefix, actionType)) linkOf(rank).allow = node
  }
  for (const { rank, node } of covering(index, fold(actionType))) linkOf(rank).tighten = node
  const chain = [...links.entries()].sort(([a], [b]) => b - a).map(([, link]) => link)
  if (index.remembered.size >= MAX_REMEMBERED) index.remembered.clear()
  index.remembered.set(actionType, chain)
  return chain
}

/** Node that covers an action name. `rank` increases with specificity; `prefix` is null for the exact name. */
type Covering = { readonly rank: number; readonly node: Node; readonly prefix: string | null }

const EXACT = Number.POSITIVE_INFINITY
/**
 * Rank of wildcard patterns shorter than `<connector>.`: less specific than all other prefixes except the empty one.
 */
const BARE = 0.5

function covering(index: PermissionIndex, type: string): readonly Covering[] {
  const found: Covering[] = []
  const add = (rank: number, node: Node | undefined, prefix: string | null): void => {
    if (node !== undefined) found.push({ rank, node, prefix })
  }
  add(EXACT, index.exact.get(type), null)
  for (const length of prefixLengths(index, type)) {
    const prefix = type.slice(0, length)
    add(length, index.prefixes.get(prefix), prefix)
  }
  add(BARE, index.bare.get(firstSegment(type)), '')
  return found
}

/** Returns the lengths at which a covering wildcard pattern may end: 0, after each dot, and those in `partials`. */
function prefixLengths(index: PermissionIndex, type: string): readonly number[] {
  const ends = [0]
  for (let dot = type.indexOf('.'); dot >= 0; dot = type.indexOf('.', dot + 1)) ends.push(dot + 1)
  const partials = ends.flatMap((end) => index.prefixes.get(type.slice(0, end))?.partials ?? [])
  return [...new Set([...ends, ...partials])].filter((length) => length <= type.length)
}

function firstSegment(type: string): string {
  const dot = type.indexOf('.')
  return dot < 0 ? type : type.slice(0, dot)
}
