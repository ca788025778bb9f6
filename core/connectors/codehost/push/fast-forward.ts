import type { PushCommand } from './commands.ts'
import type { Commits, PackEnd } from './pack.ts'

/** Input of the fast-forward proof, read from the head of a push. */
export type PushProof = {
  readonly commits: Commits
  /** Commits at which the client's history is cut (shallow clone). A server may cut its own history there. */
  readonly shallow: ReadonlySet<string>
  /** Remaining number of parents to visit in the proofs of all references of the push. */
  readonly steps: { left: number }
}

export const MAX_WALK_STEPS = 100_000

export function newProof(commits: Commits, shallow: ReadonlySet<string>): PushProof {
  return { commits, shallow, steps: { left: MAX_WALK_STEPS } }
}

const NOT_PROVEN = 'The push counts as forced, because the gateway could not verify that it is a fast-forward'

const ENDS = {
  complete: null,
  budget: 'the commits of the push exceed the limit of the gateway; push them in several steps',
  cut: 'the commits of the push exceed the bytes that the gateway reads; push them in several steps',
  base: 'the push stores a commit as a delta against an object that the push does not contain; push with --no-thin',
  malformed: 'the pack of the push cannot be parsed',
} as const satisfies Readonly<Record<PackEnd, string | null>>

/**
 * Returns the reason, as a sentence, why an update is not proven to be a fast-forward. Null if a walk from the new
 * commit over commits of the pack reaches the old commit. As in git, an update of a tag is never a fast-forward.
 */
export function notFastForward({ ref, before, after }: PushCommand, proof: PushProof): string | null {
  if (ref.startsWith('refs/tags/')) return 'The push moves an existing tag.'
  const walk = walkBack(before, after, proof)
  if (walk.isFound) return null
  return proof.steps.left < 0 ? `${NOT_PROVEN}: ${ENDS.budget}.` : reasonOf(walk, before, proof.commits)
}

const NO_PARENTS: readonly string[] = []

type Walk = { readonly isFound: boolean; readonly seen: ReadonlySet<string> }

function walkBack(before: string, after: string, { commits, shallow, steps }: PushProof): Walk {
  const seen = new Set<string>()
  const open = [after]
  for (let id = open.pop(); id !== undefined && steps.left >= 0; id = open.pop()) {
    if (id === before) return { isFound: true, seen }
    if (seen.has(id)) continue
    seen.add(id)
    const parents = shallow.has(id) ? NO_PARENTS : (commits.parents.get(id) ?? NO_PARENTS)
    steps.left -= parents.length + 1
    open.push(...parents)
  }
  return { isFound: false, seen }
}

function reasonOf({ seen }: Walk, before: string, { unreadable, end }: Commits): string {
  const broken = [...seen].find((id) => unreadable.has(id))
  if (broken !== undefined)
    return `${NOT_PROVEN}: commit ${broken.slice(0, 12)} cannot be read, because ${unreadable.get(broken)}.`
  const because = ENDS[end] ?? `the new commits are not descendants of ${before.slice(0, 12)}`
  return `${NOT_PROVEN}: ${because}.`
}
