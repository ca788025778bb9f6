import { allowsUnmapped, fold, unmappedConnector } from '../action/pattern.ts'
import type { PermissionEntry } from '../wire/sync.ts'
import { type RuleDecision, strictness, verdictOfRule } from './vocabulary.ts'

/** The permission that decides for one agent and action. */
export type PermissionMatch = {
  readonly id: string
  readonly pattern: string
  readonly decision: RuleDecision
  /** `*` or the agent's name. */
  readonly agent: string
  readonly reason: string | null
}

type Ranked = PermissionMatch & { readonly isExact: boolean; readonly length: number }

/** The winners of one pattern for one agent (or `*`): what allows is compared exactly, what tightens folded. */
type Slot = { allow: Ranked | null; tighten: Ranked | null }

/** Everything said under one pattern. `partials`: lengths of longer prefixes that end inside the next segment. */
type Node = { anyAgent: Slot | null; byAgent: Map<string, Slot> | null; partials: number[] }

type Maps = {
  readonly exact: Map<string, Node>
  readonly prefixes: Map<string, Node>
  readonly bare: Map<string, Node>
}

/**
 * All permissions of a gateway, by pattern: a look-up probes the exact name, then one prefix per dot, so its cost
 * does not grow with the number of permissions. Allow patterns are keyed by their text, the others by the folded text.
 */
export type PermissionIndex = {
  readonly size: number
  readonly exact: ReadonlyMap<string, Node>
  /** Keyed by the text before the `*`. */
  readonly prefixes: ReadonlyMap<string, Node>
  /** Patterns shorter than `<connector>.`, all of which mean `*`, by the connector type they were written for. */
  readonly bare: ReadonlyMap<string, Node>
}

export function buildPermissionIndex(entries: readonly PermissionEntry[]): PermissionIndex {
  const builder = createPermissionIndexBuilder()
  builder.add(entries)
  return builder.finish()
}

/** The same in slices, say one shard at a time, so that a large set does not hold up the event loop. */
export function createPermissionIndexBuilder(): {
  add(entries: readonly PermissionEntry[]): void
  finish(): PermissionIndex
} {
  const maps: Maps = { exact: new Map(), prefixes: new Map(), bare: new Map() }
  let size = 0
  return {
    add(entries) {
      for (const entry of entries) insert(maps, entry)
      size += entries.length
    },
    finish: () => ({ size, ...maps }),
  }
}

const ALLOW = 1
const TIGHTEN = 2
const BOTH = 3

/**
 * The permission that wins, or null. Most specific first: exact name, then longer prefixes before shorter; at equal
 * specificity the agent's own before the gateway's; on a full tie deny > require_approval > allow.
 */
export function lookupPermission(
  index: PermissionIndex,
  agent: string,
  actionType: string,
): PermissionMatch | null {
  const folded = fold(actionType)
  if (folded === actionType) return scan(index, agent, actionType, BOTH)
  const allow = scan(index, agent, actionType, ALLOW)
  const tighten = scan(index, agent, folded, TIGHTEN)
  if (allow === null || tighten === null) return allow ?? tighten
  return outranks(allow, tighten) ? allow : tighten
}

function scan(index: PermissionIndex, agent: string, type: string, use: number): Ranked | null {
  const exact = pick(index.exact.get(type), agent, use)
  if (exact !== null) return exact
  const isUnmapped = unmappedConnector(type) !== null
  for (let end = type.lastIndexOf('.') + 1; end > 0; end = end > 1 ? type.lastIndexOf('.', end - 2) + 1 : 0) {
    const hit = scanBelow(index, agent, type, end, isUnmapped ? use : use | MAPPED)
    if (hit !== null) return hit
  }
  const wide = isUnmapped ? use & TIGHTEN : use
  return (
    pick(index.bare.get(firstSegment(type)), agent, wide) ?? scanBelow(index, agent, type, 0, wide | MAPPED)
  )
}

/** Set in `use` when the rule about unmapped names has been dealt with. */
const MAPPED = 4

/** Patterns whose last dot is at `end`: those that reach into the next segment first, as they are longer. */
function scanBelow(
  index: PermissionIndex,
  agent: string,
  type: string,
  end: number,
  use: number,
): Ranked | null {
  const prefix = type.slice(0, end)
  const node = index.prefixes.get(prefix)
  if (node === undefined) return null
  const partialUse = use & MAPPED ? use : use & TIGHTEN
  for (const length of node.partials) {
    if (length > type.length) continue
    const hit = pick(index.prefixes.get(type.slice(0, length)), agent, partialUse)
    if (hit !== null) return hit
  }
  return pick(node, agent, use & MAPPED || allowsUnmapped(prefix, type) ? use : use & TIGHTEN)
}

function pick(node: Node | undefined, agent: string, use: number): Ranked | null {
  if (node === undefined) return null
  const own = node.byAgent?.get(agent)
  return (own && choose(own, use)) ?? (node.anyAgent && choose(node.anyAgent, use))
}

function choose(slot: Slot, use: number): Ranked | null {
  if (use & TIGHTEN && slot.tighten !== null) return slot.tighten
  return use & ALLOW ? slot.allow : null
}

function outranks(allow: Ranked, tighten: Ranked): boolean {
  if (allow.isExact !== tighten.isExact) return allow.isExact
  if (allow.length !== tighten.length) return allow.length > tighten.length
  return allow.agent !== '*' && tighten.agent === '*'
}

function insert(maps: Maps, entry: PermissionEntry): void {
  const { action_pattern: text, connector_type: connector } = entry
  const isWildcard = text.endsWith('*')
  const written = isWildcard ? text.slice(0, -1) : text
  const key = entry.decision === 'allow' ? written : fold(written)
  const home = connector === '*' ? '' : `${connector}.`
  if (isWildcard && home.length > key.length && home.startsWith(key)) {
    put(nodeOf(maps.bare, connector), entry, false, 0)
    return
  }
  // A pattern for another connector's names can never match what this connector does.
  if (!key.startsWith(home)) return
  if (isWildcard) notePartial(maps.prefixes, key)
  put(nodeOf(isWildcard ? maps.prefixes : maps.exact, key), entry, !isWildcard, key.length)
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

function put(node: Node, entry: PermissionEntry, isExact: boolean, length: number): void {
  const slot = slotOf(node, entry.agent)
  const side = entry.decision === 'allow' ? 'allow' : 'tighten'
  const current = slot[side]
  if (current !== null && !replaces(entry, current)) return
  const { id, action_pattern: pattern, decision, agent, reason } = entry
  slot[side] = { id, pattern, decision, agent, reason, isExact, length }
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

/** Stricter wins; between equals the smaller id, so that the order of the rows does not matter. */
function replaces(entry: PermissionEntry, current: Ranked): boolean {
  const difference = strictness(verdictOfRule(entry.decision)) - strictness(verdictOfRule(current.decision))
  return difference === 0 ? entry.id < current.id : difference > 0
}

function firstSegment(type: string): string {
  const dot = type.indexOf('.')
  return dot < 0 ? type : type.slice(0, dot)
}
