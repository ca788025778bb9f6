/** Result of reading a git commit: its root tree and its parents, or the reason why its header is unreadable. */
export type ParsedCommit =
  | { readonly kind: 'commit'; readonly tree: string; readonly parents: readonly string[] }
  | { readonly kind: 'unreadable'; readonly detail: string }

const LATIN1 = new TextDecoder('latin1')
const TREE = /^tree [0-9a-f]{40}$/
const PARENT = /^parent ([0-9a-f]{40})$/
/**
 * Matches headers after `committer` that git and tools based on git write. Only `mergetag` and `HG:` headers may
 * repeat.
 */
const EXTRA = /^(?:encoding|gpgsig|gpgsig-sha256|change-id|gitbutler-[a-z-]+|jj:[a-z-]+) /
const REPEATABLE_EXTRA = /^(?:mergetag|HG:[A-Za-z0-9_-]+) /

/**
 * Reads a commit like git's `parse_commit_buffer`: `tree`, then consecutive `parent` lines; a `parent` line elsewhere
 * is not a parent. The function is stricter than git about the other lines: it requires `author`, `committer`, only
 * known extra headers with their continuation lines, and an empty line. A commit of another form is unreadable, because
 * another reader may find other parents.
 */
export function parseCommit(data: Uint8Array): ParsedCommit {
  const text = LATIN1.decode(data)
  const end = text.indexOf('\n\n')
  if (end === -1) return unreadable('the header of the commit is truncated')
  const header = text.slice(0, end)
  if (header.includes('\0')) return unreadable('the header of the commit contains a NUL')
  const [tree = '', ...lines] = header.split('\n')
  if (!TREE.test(tree)) return unreadable('the commit does not begin with a tree line')
  const parents: string[] = []
  for (const line of lines) {
    const id = PARENT.exec(line)?.[1]
    if (id === undefined) break
    parents.push(id)
  }
  const problem = judgeRest(lines.slice(parents.length))
  return problem === null
    ? { kind: 'commit', tree: tree.slice('tree '.length), parents }
    : unreadable(problem)
}

function judgeRest([author = '', committer = '', ...extras]: readonly string[]): string | null {
  if (!author.startsWith('author ')) return 'the author line does not follow the parent lines'
  if (!committer.startsWith('committer ')) return 'the committer line does not follow the author line'
  return judgeExtras(extras)
}

function judgeExtras(extras: readonly string[]): string | null {
  const seen = new Set<string>()
  for (const [at, line] of extras.entries()) {
    if (line.startsWith(' ') && at > 0) continue
    const name = line.slice(0, line.indexOf(' '))
    const isKnown = REPEATABLE_EXTRA.test(line) || (EXTRA.test(line) && !seen.has(name))
    if (!isKnown) return 'a header after the committer line is unknown, repeated or misplaced'
    seen.add(name)
  }
  return null
}

function unreadable(detail: string): ParsedCommit {
  return { kind: 'unreadable', detail }
}
