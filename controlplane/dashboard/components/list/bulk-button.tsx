import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ConfirmButton } from '../form/confirm-button.tsx'
import { UntrustedText } from '../text/untrusted-text.tsx'
import type { BulkAction } from './bulk-actions.tsx'

/** Maximum length of a reason in characters, as in the API. */
const MAX_REASON = 2_000

/** Renders the button of an operation on several rows. Its dialog lists the rows that the operation changes. */
export function BulkButton<Row>(props: {
  readonly action: BulkAction<Row>
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly onConfirm: (rows: readonly Row[], reason: string) => Promise<void>
}) {
  const { action, rows, keyOf, nameOf, onConfirm } = props
  const [reason, setReason] = useState('')
  const chosen = rows.filter(action.appliesTo)
  const others = rows.length - chosen.length
  return (
    <ConfirmButton
      label={action.label}
      ariaLabel={`${action.label} the selected rows`}
      title={`${action.label}: ${chosen.length}`}
      disabled={chosen.length === 0}
      onConfirm={async () => {
        await onConfirm(chosen, reason.trim())
        setReason('')
      }}
    >
      {action.about}
      <ul>
        {chosen.map((row) => (
          <li key={keyOf(row)}>
            <UntrustedText text={nameOf(row)} />
          </li>
        ))}
      </ul>
      {others === 0 ? null : (
        <Text size="sm" mb="xs">
          {others} of the selected rows {others === 1 ? 'is' : 'are'} left out. {action.leftOut}
        </Text>
      )}
      {action.reasonHint === undefined ? null : (
        <TextInput
          label="Reason"
          placeholder={action.reasonHint}
          value={reason}
          maxLength={MAX_REASON}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
    </ConfirmButton>
  )
}
