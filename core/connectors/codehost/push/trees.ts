import { isWorkflowPath } from '../workflow-folder.ts'

/** One entry of a git tree object. `name` is decoded as Latin-1. */
export type TreeEntry = { readonly name: string; readonly id: string }

/** Trees that were read from the beginning of a pack, with the objects that refer to them. */
export type PackTrees = {
  /** Entries of each readable tree, by tree id. */
  readonly entries: ReadonlyMap<string, readonly TreeEntry[]>
  /** Id of the root tree of each readable commit, by commit id. */
  readonly roots: ReadonlyMap<string, string>
  /** Id of the object that each tag marks, by tag id. */
  readonly tagged: ReadonlyMap<string, string>
  /** Reason why a commit cannot be read, by commit id. */
  readonly unreadable: ReadonlyMap<string, string>
  /** True if every object of the pack was read. */
  readonly isWhole: boolean
}

/** Id of the empty tree, which exists in every repository. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const ID_BYTES = 20
const [NUL, BLANK] = [0x00, 0x20]
const LATIN1 = new TextDecoder('latin1')

/**
 * Reads a git tree object: mode, blank, name, NUL and 20 bytes of id for each entry. Null if the object has another
 * form.
 */
export function parseTree(data: Uint8Array): readonly TreeEntry[] | null {
  const entries: TreeEntry[] = []
  for (let at = 0; at < data.length; ) {
    const blank = data.indexOf(BLANK, at)
    const end = blank === -1 ? -1 : data.indexOf(NUL, blank)
    const next = end + 1 + ID_BYTES
    if (end === -1 || next > data.length) return null
    const id = Array.from(data.subarray(end + 1, next), (byte) => byte.toString(16).padStart(2, '0')).join('')
    entries.push({ name: LATIN1.decode(data.subarray(blank + 1, end)), id })
    at = next
  }
  return entries
}

/** Returns the object id in the first line of a tag object; empty if the tag has another form. */
export function taggedId(data: Uint8Array): string {
  return /^object ([0-9a-f]{40})\n/.exec(LATIN1.decode(data.subarray(0, 48)))?.[1] ?? ''
}

/**
 * Returns the reason, as a sentence, why a push may add or change files in a folder of workflows. Null if the pack
 * shows that no commit has such a folder. If the pack lacks the content of a folder that may hold workflows, the
 * function returns a reason, because the server may have any content stored for the folder. `tips`: object ids that the
 * push gives to references.
 */
export function workflowReason(trees: PackTrees, tips: readonly string[]): string | null {
  const [unreadable] = trees.unreadable.keys()
  if (unreadable !== undefined) return sentence(`commit ${short(unreadable)} cannot be read`)
  for (const [commit, root] of trees.roots) {
    const found = problemOf(root, trees)
    if (found !== null) return sentence(`commit ${short(commit)} ${found}`)
  }
  if (trees.isWhole) return null
  const hidden = tips.find((tip) => !isInPack(tip, trees))
  return hidden === undefined
    ? null
    : sentence(`the gateway did not read the object ${short(hidden)} of the push`)
}

/** Reports whether the pack has the commit that a reference is moved to. */
export function isInPack(tip: string, trees: PackTrees): boolean {
  return trees.roots.has(peeled(tip, trees))
}

/** Returns the reason why a root tree has, or may have, a folder of workflows; null if it has none. */
function problemOf(root: string, trees: PackTrees): string | null {
  const entries = entriesOf(root, trees)
  if (entries === null) return 'has a tree that is not complete in the push'
  for (const { name, id } of entries) {
    if (!isWorkflowPath(name)) continue
    const inner = entriesOf(id, trees)
    if (inner === null) return `has the folder ${name}, which is not complete in the push`
    const folder = inner.find((entry) => isWorkflowPath(`${name}/${entry.name}`))
    if (folder !== undefined) return `has the folder ${name}/${folder.name}`
  }
  return null
}

function entriesOf(id: string, { entries }: PackTrees): readonly TreeEntry[] | null {
  return id === EMPTY_TREE ? [] : (entries.get(id) ?? null)
}

const MAX_TAGS = 8

/** Follows up to `MAX_TAGS` nested tags to the object that they mark. */
function peeled(id: string, { tagged }: PackTrees): string {
  let at = id
  for (let i = 0; i < MAX_TAGS; i++) at = tagged.get(at) ?? at
  return at
}

function sentence(because: string): string {
  return `The push may change workflows: ${because}.`
}

function short(id: string): string {
  return id.slice(0, 12)
}
