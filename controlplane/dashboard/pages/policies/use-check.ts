import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { PolicyCheckReply } from '../../../../core/wire/governance.ts'
import { type ApiError, asApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import type { PolicyDraft } from './draft.ts'

export type Check = {
  /** The last answer, also while the next one is awaited. */
  readonly reply: PolicyCheckReply | null
  readonly error: ApiError | null
  /** The answer is about the text as it stands. */
  readonly isCurrent: boolean
}

const PATIENCE_MS = 300

/** Asks the API what it thinks of the text whenever the typing pauses. */
export function useCheck(draft: PolicyDraft): Check {
  const key = JSON.stringify(draft)
  const [asked] = useDebouncedValue(key, PATIENCE_MS)
  const [state, setState] = useState<Omit<Check, 'isCurrent'> & { readonly key: string }>({
    key: '',
    reply: null,
    error: null,
  })
  useEffect(() => {
    const { policyYaml, name, description: _ofTheRecord, ...record } = JSON.parse(asked) as PolicyDraft
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
