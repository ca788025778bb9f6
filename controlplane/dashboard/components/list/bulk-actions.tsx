import { Alert, Button, Group, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { asApiError } from '../../api/api-error.ts'
import { UntrustedText } from '../text/untrusted-text.tsx'
import { BulkButton } from './bulk-button.tsx'
import type { Selection } from './use-selection.ts'

export type BulkAction<Row> = {
  readonly label: string
  /** Past participle of the label, for the result, such as `suspended`. */
  readonly done: string
  /** Description of the consequences, which the confirmation dialog shows. */
  readonly about: ReactNode
  /** Reports whether the operation is possible for a row. The operation is not executed for other selected rows. */
  readonly appliesTo: (row: Row) => boolean
  /**
   * Reason why the operation is not executed for some of the selected rows. The dialog shows the reason if there are
   * such rows.
   */
  readonly leftOut?: string
  /** Placeholder of a text field "Reason" in the dialog. Without it, the dialog has no such field. */
  readonly reasonHint?: string
  /** Executes the operation for one row, with the text of the field "Reason". */
  readonly run: (row: Row, reason: string) => Promise<unknown>
}

type Props<Row> = {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly selection: Selection
  readonly actions: ReadonlyArray<BulkAction<Row>>
  /** Called after each operation on the selected rows, even if the operation failed for some of the rows. */
  readonly onDone: () => void
}

type Result = { readonly text: string; readonly failures: readonly string[] }

/**
 * Renders the number of selected rows and the operations on all of them, and keeps the result of the last operation
 * visible.
 */
export function BulkActions<Row>({ rows, keyOf, nameOf, selection, actions, onDone }: Props<Row>) {
  const [result, setResult] = useState<Result | null>(null)
  const runAll = async (action: BulkAction<Row>, chosen: readonly Row[], reason: string) => {
    const failures: string[] = []
    for (const row of chosen) {
      try {
        await action.run(row, reason)
      } catch (failure) {
        failures.push(`${nameOf(row)}: ${asApiError(failure).message}`)
      }
    }
    setResult({ text: `${chosen.length - failures.length} of ${chosen.length} ${action.done}.`, failures })
    selection.clear()
    onDone()
  }
  return (
    <>
      {rows.length === 0 ? null : (
        <Group gap="xs" role="group" aria-label="Selected rows">
          <Text size="sm">{rows.length} selected</Text>
          {actions.map((action) => (
            <BulkButton
              key={action.label}
              {...{ action, rows, keyOf, nameOf }}
              onConfirm={(chosen, reason) => runAll(action, chosen, reason)}
            />
          ))}
          <Button size="xs" variant="subtle" onClick={selection.clear}>
            Clear selection
          </Button>
        </Group>
      )}
      {result === null ? null : (
        <Alert
          role="status"
          variant="outline"
          color={result.failures.length === 0 ? 'indigo' : 'red'}
          title={result.text}
          className={result.failures.length === 0 ? 'note' : 'note note-error'}
          withCloseButton
          closeButtonLabel="Dismiss"
          onClose={() => setResult(null)}
        >
          {result.failures.map((failure) => (
            <div key={failure}>
              <UntrustedText text={failure} />
            </div>
          ))}
        </Alert>
      )}
    </>
  )
}
