import { useEffect, useState } from 'react'
import type { PolicyDetails } from '../../../../core/wire/policies.ts'
import { useSession } from '../../session/session.tsx'
import { changesOf, draftOf, NEW_DRAFT, type PolicyDraft } from './draft.ts'

/** Edit of one policy: the version that the edit is based on (null for a new policy), and the edited text. */
type Edit = { readonly base: PolicyDetails | null; readonly draft: PolicyDraft }

/**
 * Returns the edit of a policy. The browser tab keeps unsaved changes for this user until they are saved or
 * discarded. `base` stays the same when other users change the policy.
 */
export function useKeptDraft(stored: PolicyDetails | null) {
  const { user } = useSession()
  const key = `chaperone policy draft ${user.id} ${stored?.id ?? 'new'}`
  const [kept] = useState(() => read(key))
  const [edit, setEdit] = useState<Edit>(kept ?? { base: stored, draft: draftOfStored(stored) })
  const [isRestored, setIsRestored] = useState(kept !== null)
  const { base, draft } = edit
  const isChanged = Object.keys(changesOf(draftOfStored(base), draft)).length > 0
  useEffect(() => {
    if (isChanged) sessionStorage.setItem(key, JSON.stringify({ base, draft }))
    else sessionStorage.removeItem(key)
  }, [isChanged, key, base, draft])
  useUnloadWarning(isChanged)
  return {
    base,
    draft,
    isRestored: isRestored && isChanged,
    change: (fields: Partial<PolicyDraft>) =>
      setEdit((before) => ({ ...before, draft: { ...before.draft, ...fields } })),
    /** Replaces the base and the draft by a stored version, and deletes unsaved changes. */
    rebase: (policy: PolicyDetails | null) => {
      setIsRestored(false)
      setEdit({ base: policy, draft: draftOfStored(policy) })
      sessionStorage.removeItem(key)
    },
  }
}

function draftOfStored(policy: PolicyDetails | null): PolicyDraft {
  return policy === null ? NEW_DRAFT : draftOf(policy)
}

/**
 * Makes the browser request a confirmation before it closes a tab with unsaved changes, because only this tab stores
 * them.
 */
function useUnloadWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isChanged])
}

function read(key: string): Edit | null {
  const text = sessionStorage.getItem(key)
  return text === null ? null : (JSON.parse(text) as Edit)
}
