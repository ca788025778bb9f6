import { effectOfPattern } from '../../action/effect-class.ts'
import { fold } from '../../action/pattern.ts'
import type { PermissionEntry } from '../../wire/gateway/sync.ts'
import { type RuleDecision, strictness, verdictOfRule } from '../vocabulary.ts'
import { isPrefix } from './agent-pattern.ts'

/** Permission that decides for one agent and action. */
export type PermissionMatch = {
  readonly id: string
  readonly pattern: string
  readonly decision: RuleDecision
  /** Agents of the permission: `*`, an agent's name, or a prefix of names with `*` at the end. */
  readonly agent: string
  readonly reason: string | null
  /** Name of the manifest that declares the permission; null for a permission that the API created. */
  readonly manifest: string | null
}

/**
 * Permissions of one pattern that decide for one agent (or for `*`, all agents). An action name is compared exactly
 * with `allow` patterns, and without case with `tighten` patterns (deny and require_approval).
 */
type Slot = { allow: PermissionMatch | null; tighten: PermissionMatch | null }

/**
 * All permissions of one pattern. `partials`: for a prefix such as `codehost.`, the lengths of longer prefixes that end
 * within the next segment, such as `codehost.pr_`.
 */
export type Node = { anyAgent: Slot | null; byAgent: Map<string, Slot> | null; partials: number[] }

type Maps = {
  readonly exact: Map<string, Node>
  readonly prefixes: Map<string, Node>
  readonly bare: Map<string, Node>
  readonly effects: Map<string, Node>
}

/**
 * Index of all permissions of a gateway, by pattern. A search tries the exact action name, then one prefix for each dot
 * in the name, so its cost does not depend on the number of permissions. The index caches the result for each name.
 * Allow patterns are keyed by their text, the others by the text without case.
 */
export type PermissionIndex = {
  readonly size: number
  readonly exact: ReadonlyMap<string, Node>
  /** Wildcard patterns, keyed by the text before the `*`. */
  readonly prefixes: ReadonlyMap<string, Node>
  /**
   * Wildcard patterns shorter than `<connector>.`, such as `*` and `code*`, keyed by connector type. All of them are
   * equally specific.
   */
  readonly bare: ReadonlyMap<string, Node>
  /** Permissions by effect class, keyed by `effectKey`. */
  readonly effects: ReadonlyMap<string, Node>
  /** Prefixes of agent names in permissions, with `*` at the end, longest first. */
  readonly agentPrefixes: readonly string[]
  /** Cache by agent, of at most `MAX_AGENTS` entries: its name and the prefixes that cover it, most specific first. */
  readonly covering: Map<string, readonly string[]>
  /**
   * Cache of search results by action name, of at most `MAX_REMEMBERED` names. Only the caches change after the build.
   */
  readonly remembered: Map<string, Chain>
}

/** Patterns that cover one action name, most specific first. */
export type Chain = readonly Link[]

/**
 * Pattern that covers an action name, with its permissions: `allow` by the exact spelling, `tighten` by the spelling
 * without case. The nodes of `allow` and `tighten` are often the same.
 */
export type Link = { allow: Node | null; tighten: Node | null }

/**
 * Creates a builder of the index. The builder accepts the permissions in parts, for example one section at a time, so
 * that a large set does not block the event loop.
 */
export function createPermissionIndexBuilder(): {
  add(entries: readonly PermissionEntry[]): void
  finish(): PermissionIndex
} {
  const maps: Maps = { exact: new Map(), prefixes: new Map(), bare: new Map(), effects: new Map() }
  const prefixes = new Set<string>()
  let size = 0
  return {
    add(entries) {
      for (const entry of entries) {
        insert(maps, entry)
        if (isPrefix(entry.agent) && entry.agent !== '*') prefixes.add(entry.agent)
      }
      size += entries.length
    },
    finish: () => ({
      size,
      ...maps,
      remembered: new Map(),
      covering: new Map(),
      agentPrefixes: [...prefixes].sort((a, b) => b.length - a.length),
    }),
  }
}

/** Returns the key of an effect class on a connector type. */
export function effectKey(connector: string, effect: string): string {
  return `${connector} ${effect}`
}

function insert(maps: Maps, entry: PermissionEntry): void {
  const { action_pattern: text, connector_type: connector } = entry
  const effect = effectOfPattern(text)
  if (effect !== null) {
    put(nodeOf(maps.effects, effectKey(connector, effect)), entry)
    return
  }
  const isWildcard = text.endsWith('*')
  const written = isWildcard ? text.slice(0, -1) : text
  const key = entry.decision === 'allow' ? written : fold(written)
  const home = connector === '*' ? '' : `${connector}.`
  if (isWildcard && home.length > key.length && home.startsWith(key)) {
    put(nodeOf(maps.bare, connector), entry)
    return
  }
  // A pattern for names of another connector type never matches an action of the permission's connector type.
  if (!key.startsWith(home)) return
  if (isWildcard) notePartial(maps.prefixes, key)
  put(nodeOf(isWildcard ? maps.prefixes : maps.exact, key), entry)
}

function notePartial(prefixes: Map<string, Node>, key: string): void {
  const end = key.lastIndexOf('.') + 1
  if (end === key.length) return
  const { partials } = nodeOf(prefixes, key.slice(0, end))
  if (partials.includes(key.length)) return
  partials.push(key.length)
  partials.sort((a, b) => b - a)
}

function nodeOf(map: Map<string, Node>, key: string): Node {
  const found = map.get(key)
  if (found !== undefined) return found
  const node: Node = { anyAgent: null, byAgent: null, partials: [] }
  map.set(key, node)
  return node
}

function put(node: Node, entry: PermissionEntry): void {
  const slot = slotOf(node, entry.agent)
  const side = entry.decision === 'allow' ? 'allow' : 'tighten'
  const current = slot[side]
  if (current !== null && !replaces(entry, current)) return
  const { id, action_pattern: pattern, decision, agent, reason, manifest = null } = entry
  slot[side] = { id, pattern, decision, agent, reason, manifest }
}

function slotOf(node: Node, agent: string): Slot {
  if (agent === '*') {
    node.anyAgent ??= { allow: null, tighten: null }
    return node.anyAgent
  }
  node.byAgent ??= new Map()
  const slot = node.byAgent.get(agent) ?? { allow: null, tighten: null }
  node.byAgent.set(agent, slot)
  return slot
}

/**
 * Reports whether a permission replaces the current one of the same pattern and agent. The stricter one wins, then the
 * one with the smaller id, so that the order of rows is irrelevant.
 */
function replaces(entry: PermissionEntry, current: PermissionMatch): boolean {
  const difference = strictness(verdictOfRule(entry.decision)) - strictness(verdictOfRule(current.decision))
  return difference === 0 ? entry.id < current.id : difference > 0
}
