import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { PolicyCheckReply } from '../../../../core/wire/policies.ts'
import { type ApiError, asApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import type { PolicyDraft } from './draft.ts'

export type Check = {
  /** Last reply, which is kept while the next check is in flight. */
  readonly reply: PolicyCheckReply | null
  readonly error: ApiError | null
  /** True if the reply belongs to the current text of the editor. */
  readonly isCurrent: boolean
}

const DEBOUNCE_MS = 300

/** Checks the policy text with the API after each pause in typing. */
export function useCheck(draft: PolicyDraft): Check {
  const key = JSON.stringify(draft)
  const [asked] = useDebouncedValue(key, DEBOUNCE_MS)
  const [state, setState] = useState<Omit<Check, 'isCurrent'> & { readonly key: string }>({
    key: '',
    reply: null,
    error: null,
  })
  useEffect(() => {
    const { policyYaml, name, description: _description, ...record } = JSON.parse(asked) as PolicyDraft
    const abort = new AbortController()
    const body = {
      ...record,
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      policyYaml: policyYaml || ' ',
    }
    call('POST /api/dashboard/policies/check', { body }, abort.signal).then(
      (reply) => setState({ key: asked, reply, error: null }),
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, key: asked, error: asApiError(error) }))
      },
    )
    return () => abort.abort()
  }, [asked])
  return { reply: state.reply, error: state.error, isCurrent: state.key === key }
}
