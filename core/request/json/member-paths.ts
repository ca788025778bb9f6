import { fold, MAX_FOLDED } from './strict-json.ts'

/** Node of a trie of member paths. */
export type MemberPaths = {
  /** Name of the member; empty for the root and for the elements of a list. */
  readonly name: string
  /** True if the value at this path is kept completely. */
  readonly isKept: boolean
  /** Nodes of the members below this path, by exact name. */
  readonly members: ReadonlyMap<string, MemberPaths>
  /** Node of the elements of a list at this path; null if nothing in the elements is kept. */
  readonly elements: MemberPaths | null
  /** Exact names of the members by their folded spelling (see `fold`). */
  readonly folded: ReadonlyMap<string, string>
}

type Growing = {
  readonly name: string
  isKept: boolean
  readonly members: Map<string, Growing>
  elements: Growing | null
  readonly folded: Map<string, string>
}

/** Cache of tries by the list of paths, because all requests share a few lists. */
const made = new WeakMap<readonly string[], MemberPaths>()

/** Returns the trie of paths such as `model` and `requests.*.model`. */
export function memberPaths(paths: readonly string[]): MemberPaths {
  const known = made.get(paths)
  if (known !== undefined) return known
  const root = newNode('')
  for (const path of paths) add(root, path.split('.'))
  made.set(paths, root)
  return root
}

function newNode(name: string): Growing {
  return { name, isKept: false, members: new Map(), elements: null, folded: new Map() }
}

function add(root: Growing, names: readonly string[]): void {
  let node = root
  for (const name of names) node = name === '*' ? elementsOf(node) : memberOf(node, name)
  node.isKept = true
}

function elementsOf(node: Growing): Growing {
  node.elements ??= newNode('')
  return node.elements
}

function memberOf({ members, folded }: Growing, name: string): Growing {
  const member = members.get(name) ?? newNode(name)
  members.set(name, member)
  folded.set(fold(name), name)
  return member
}

/**
 * Returns the kept name at this position that another parser could confuse with `key`; null if there is none. `key`
 * must not be a kept name itself.
 */
export function foldsTo({ folded }: MemberPaths, key: string): string | null {
  if (folded.size === 0 || key.length > MAX_FOLDED) return null
  return folded.get(fold(key)) ?? null
}
