import type { Action } from '../../action/action.ts'
import { type CanonicalRequest, isRefusal } from '../../request/canonical.ts'
import type { BodyView, CatalogueRow, Classification } from '../connector.ts'
import { FORCE_PUSH } from './push/force-push.ts'

const NEW_REFERENCE = {
  effect: 'write',
  risk: 'medium',
  permissions: ['contents:write', 'workflows:write'],
} as const

/** Creation of a tag. Its risk is medium, because users treat a tag as a release and pipelines start from tags. */
const TAG: CatalogueRow = { type: 'codehost.tag.create', ...NEW_REFERENCE }
/** Creation of a reference that is neither a branch nor a tag, such as `refs/notes/…`. */
const OTHER: CatalogueRow = { type: 'codehost.ref.create', ...NEW_REFERENCE }

/** Actions that a new reference outside `refs/heads/` has in addition to `branch.create`. */
export const REFERENCE_ROWS: readonly CatalogueRow[] = [TAG, OTHER]

const CREATE = 'codehost.branch.create'
const UPDATE = 'codehost.branch.update'

/**
 * Returns the action of a reference write, and the further actions of the same operation. A forced update is also a
 * force push, because it can lose commits. A new reference outside `refs/heads/` is also the creation of a tag or of
 * another reference. The strictest decision about these actions applies.
 */
export function withReferenceActions(action: Action): readonly Action[] {
  const { force, ref } = action.parameters
  if (action.type === UPDATE && isForced(force)) return [action, besides(action, FORCE_PUSH)]
  if (action.type !== CREATE || ref === undefined) return [action]
  const row = rowOf(ref)
  return row === null ? [action] : [action, besides(action, row)]
}

/**
 * Adds the further actions of a reference write (see `withReferenceActions`) to a REST classification. Without the
 * body, every possible further action is a candidate.
 */
export function withReferences(named: Classification, body: BodyView | undefined): Classification {
  if (isRefusal(named)) return named
  const isOpen = body === undefined
  if (named.kind === 'candidates') {
    const types = new Set(named.candidates.map(({ type }) => type))
    const further = named.candidates
      .flatMap((one) => possible(one, isOpen))
      .filter(({ type }) => !types.has(type))
    return { ...named, candidates: [...named.candidates, ...further] }
  }
  const [action] = named.actions
  if (action === undefined || named.actions.length > 1 || named.announces !== undefined) return named
  const known = withReferenceActions(action)
  if (known.length > 1) return { kind: 'actions', actions: known }
  const candidates = possible(action, isOpen)
  return candidates.length > 1 ? { kind: 'candidates', candidates } : named
}

/** Returns the body members that determine the further actions of a reference write; empty for other requests. */
export function referenceKeys({ method, segments }: CanonicalRequest): readonly string[] {
  const isReference = segments.some((segment, at) => segment === 'refs' && segments[at - 1] === 'git')
  if (!isReference || method === 'GET' || method === 'HEAD') return []
  return method === 'PATCH' ? ['force'] : method === 'POST' ? ['ref'] : []
}

function possible(action: Action, isOpen: boolean): readonly Action[] {
  const known = withReferenceActions(action)
  if (!isOpen || known.length > 1) return known
  if (action.type === UPDATE) return [action, besides(action, FORCE_PUSH)]
  return action.type === CREATE ? [action, ...REFERENCE_ROWS.map((row) => besides(action, row))] : [action]
}

/**
 * Reports whether the parameter `force` forces the update. Every value counts as true except null, the empty text, and
 * false and 0 (also as texts), because servers disagree about the other values.
 */
export function isForced(force: unknown): boolean {
  return ![undefined, null, false, 'false', 0, '0', ''].includes(force as never)
}

function rowOf(ref: unknown): CatalogueRow | null {
  if (typeof ref !== 'string') return OTHER
  if (ref.startsWith('refs/heads/')) return null
  return ref.startsWith('refs/tags/') ? TAG : OTHER
}

function besides(action: Action, { type, effect, risk, hints = {} }: CatalogueRow): Action {
  const { connector, resource, parameters } = action
  const nameReason = REASONS[type] ?? ''
  const parts = { type, connector, effect, risk, resource, parameters, riskHints: hints, nameReason }
  return { ...parts, isBeside: true }
}

const REASONS: Readonly<Record<string, string>> = {
  [FORCE_PUSH.type]: 'The update is forced, so commits can be lost.',
  [TAG.type]: 'The reference is a tag, so the rules for tags apply.',
  [OTHER.type]: 'The reference is neither a branch nor a tag, so the rules for other references apply.',
}
