import { Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { PolicyProblem } from '../../../../core/wire/policies.ts'
import { type ApiError, asApiError } from '../../api/api-error.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { LoadingSkeleton } from '../../components/layout/loading.tsx'
import { importWithRetry } from '../../components/lazy/import-with-retry.ts'
import type { Editor } from './editor-view.ts'

type Props = {
  readonly text: string
  readonly problems: readonly PolicyProblem[]
  readonly isReadOnly: boolean
  readonly label: string
  readonly onChange: (text: string) => void
}

/**
 * Renders a text editor that marks problems at their lines. The editor library is a chunk of its own that loads with
 * the first editor.
 */
export function TextEditor({ text, problems, isReadOnly, label, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const first = useRef({ text, label })
  const listener = useRef(onChange)
  const [editor, setEditor] = useState<Editor | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  useEffect(() => {
    listener.current = onChange
  }, [onChange])
  useEffect(() => {
    const element = box.current
    let created: Editor | null = null
    let isUnmounted = false
    importWithRetry(() => import('./editor-view.ts')).then(
      ({ createEditor }) => {
        if (isUnmounted || element === null) return
        created = createEditor(element, { ...first.current, onChange: (next) => listener.current(next) })
        setEditor(created)
      },
      (failure: unknown) => setError(asApiError(failure)),
    )
    return () => {
      isUnmounted = true
      created?.destroy()
      setEditor(null)
    }
  }, [])
  useEffect(() => editor?.setText(text), [editor, text])
  useEffect(() => editor?.setProblems(problems), [editor, problems])
  useEffect(() => editor?.setReadOnly(isReadOnly), [editor, isReadOnly])
  return (
    <>
      {error === null ? null : <ErrorNote title="The editor could not be loaded" error={error} />}
      {editor === null && error === null ? <LoadingSkeleton /> : null}
      <div ref={box} className="policy-text-box" />
      {isReadOnly ? null : (
        <Text size="xs" c="dimmed" visibleFrom="sm">
          Ctrl Space lists the fields, actions, facts and functions that fit at the cursor.
        </Text>
      )}
    </>
  )
}
