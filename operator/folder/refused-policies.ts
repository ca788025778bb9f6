import type { ManifestProblem } from '../../core/wire/operator/operator.ts'
import type { ManifestHead } from './manifest-head.ts'
import type { ManifestObject } from './manifests.ts'

/**
 * A document of a broken file that is, or may be, a Policy. The operator pushes it, so that the control plane denies
 * requests in its scope.
 */
export type RefusedPolicy = Omit<ManifestObject, 'resource'> & {
  /**
   * Illegible part of the document. `policy`: the name of a Policy. `unknown`: the kind. Null when kind and name are
   * legible.
   */
  readonly unnamed: 'policy' | 'unknown' | null
  readonly spec: unknown
  /** Problems of the file that contains the document. */
  readonly problems: readonly string[]
}

export type BrokenFile = {
  readonly file: string
  readonly heads: readonly ManifestHead[]
  readonly problems: readonly ManifestProblem[]
  /** Objects of the file's last good version, which stay in force. */
  readonly kept: readonly ManifestObject[]
  /** Keys of all objects in force, from whichever file. */
  readonly taken: ReadonlySet<string>
}

const MAX_PROBLEMS = 20

/**
 * Returns the policies of a broken file that have no last good version. An object of the last good version that no
 * legible document names is matched with one illegible document. The matched document is left out, because it is most
 * likely the new version of the object.
 */
export function refusedPolicies({
  file,
  heads,
  problems,
  kept,
  taken,
}: BrokenFile): readonly RefusedPolicy[] {
  const keys = new Set([...taken, ...kept.map(({ key }) => key)])
  const named = new Set(heads.map(({ key }) => key))
  const unmatched = kept.filter(({ key }) => !named.has(key))
  const isKept = ({ kind, key }: ManifestHead): boolean => {
    if (kind === 'Policy' && key !== null) return keys.has(key)
    const at = unmatched.findIndex((object) => kind === 'unknown' || object.kind === 'Policy')
    if (at >= 0) unmatched.splice(at, 1)
    return at >= 0
  }
  const texts = problems.slice(0, MAX_PROBLEMS).map(({ line, message }) => `line ${line ?? '?'}: ${message}`)
  return heads
    .map((head, index) => ({ head, index }))
    .filter(({ head }) => head.kind !== 'other' && !isKept(head))
    .map(({ head, index }) => ({ ...placeOf(head, file, index), spec: head.spec, problems: texts }))
}

function placeOf(head: ManifestHead, file: string, index: number): Omit<RefusedPolicy, 'spec' | 'problems'> {
  const { kind, namespace, line } = head
  const isNamed = kind === 'Policy' && head.name !== null
  const name = isNamed
    ? head.name
    : `unnamed-${index + 1}.${file.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-')}`
  return {
    key: `Policy/${namespace}/${name}`,
    kind: 'Policy',
    namespace,
    name,
    file,
    line,
    lines: { '': line },
    unnamed: isNamed ? null : kind === 'Policy' ? 'policy' : 'unknown',
  }
}
