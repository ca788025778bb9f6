import { fold, MAX_FOLDED } from './strict-json.ts'

/** Paths of JSON members as a tree. */
export type MemberPaths = {
  /** The value at this place is kept whole. */
  readonly isKept: boolean
  /** By exact name. */
  readonly members: ReadonlyMap<string, MemberPaths>
  /** Of a list; null where nothing of them is kept. */
  readonly elements: MemberPaths | null
  /** Exact names by what they fold to. */
  readonly folded: ReadonlyMap<string, string>
}

type Growing = {
  isKept: boolean
  readonly members: Map<string, Growing>
  elements: Growing | null
  readonly folded: Map<string, string>
}

/** The same few lists come with every request. */
const made = new WeakMap<readonly string[], MemberPaths>()

/** The tree of paths such as `model` and `requests.*.model`. */
export function memberPaths(paths: readonly string[]): MemberPaths {
  const known = made.get(paths)
  if (known !== undefined) return known
  const root = newNode()
  for (const path of paths) add(root, path.split('.'))
  made.set(paths, root)
  return root
}

function newNode(): Growing {
  return { isKept: false, members: new Map(), elements: null, folded: new Map() }
}

function add(root: Growing, names: readonly string[]): void {
  let node = root
  for (const name of names) node = name === '*' ? elementsOf(node) : memberOf(node, name)
  node.isKept = true
}

function elementsOf(node: Growing): Growing {
  node.elements ??= newNode()
  return node.elements
}

function memberOf({ members, folded }: Growing, name: string): Growing {
  const member = members.get(name) ?? newNode()
  members.set(name, member)
  folded.set(fold(name), name)
  return member
}

/** The kept name at this place that another reader could take the key for; null for none, or for the key itself. */
export function foldsTo({ folded }: MemberPaths, key: string): string | null {
  if (folded.size === 0 || key.length > MAX_FOLDED) return null
  const name = folded.get(fold(key))
  return name === undefined || name === key ? null : name
}
