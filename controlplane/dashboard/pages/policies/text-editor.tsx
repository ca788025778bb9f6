import { useEffect, useRef, useState } from 'react'
import type { PolicyProblem } from '../../../../core/wire/governance.ts'
import { type ApiError, asApiError } from '../../api/api-error.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Outline } from '../../components/layout/loading.tsx'
import { importWithRetry } from '../../components/lazy/import-with-retry.ts'
import type { Editor } from './editor-view.ts'

type Props = {
  readonly text: string
  readonly problems: readonly PolicyProblem[]
  readonly isReadOnly: boolean
  readonly label: string
  readonly onChange: (text: string) => void
}

/** The text with its problems at their lines; the library behind it comes when the first text is shown. */
export function TextEditor({ text, problems, isReadOnly, label, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const first = useRef({ text, label })
  const heard = useRef(onChange)
  const [editor, setEditor] = useState<Editor | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  useEffect(() => {
    heard.current = onChange
  }, [onChange])
  useEffect(() => {
    const element = box.current
    let made: Editor | null = null
    let isGone = false
    importWithRetry(() => import('./editor-view.ts')).then(
      ({ createEditor }) => {
        if (isGone || element === null) return
        made = createEditor(element, { ...first.current, onChange: (next) => heard.current(next) })
        setEditor(made)
      },
      (failure: unknown) => setError(asApiError(failure)),
    )
    return () => {
      isGone = true
      made?.destroy()
      setEditor(null)
    }
  }, [])
  useEffect(() => editor?.setText(text), [editor, text])
  useEffect(() => editor?.setProblems(problems), [editor, problems])
  useEffect(() => editor?.setReadOnly(isReadOnly), [editor, isReadOnly])
  return (
    <>
      {error === null ? null : <ErrorNote title="The editor could not be loaded" error={error} />}
      {editor === null && error === null ? <Outline /> : null}
      <div ref={box} />
    </>
  )
}
