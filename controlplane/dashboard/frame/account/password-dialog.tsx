import { PasswordInput, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'

/** Minimum length of a password. The API has the same limit. */
const MIN_LENGTH = 12

/** Changes the password of the signed-in user and ends all of the user's other sessions. */
export function PasswordDialog({ onClose }: { readonly onClose: () => void }) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = useMutation(async () => {
    await call('POST /api/auth/password', { body: { current_password: current, new_password: next } })
    onClose()
  })
  return (
    <FormDialog
      title="Change password"
      isOpen
      onClose={onClose}
      label="Change password"
      isReady={current !== '' && next.length >= MIN_LENGTH}
      mutation={change}
    >
      <Secret
        label="Current password"
        complete="current-password"
        value={current}
        onChange={setCurrent}
        isFirst
      />
      <Secret
        label="New password"
        complete="new-password"
        hint={`${MIN_LENGTH} characters or more`}
        value={next}
        onChange={setNext}
      />
      <Text size="sm" c="dimmed">
        You stay signed in here. All your other sessions end.
      </Text>
    </FormDialog>
  )
}

type SecretProps = {
  readonly label: string
  readonly complete: 'current-password' | 'new-password'
  readonly hint?: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isFirst?: boolean
}

function Secret({ label, complete, hint, value, onChange, isFirst = false }: SecretProps) {
  return (
    <PasswordInput
      label={label}
      autoComplete={complete}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      required
      visibilityToggleButtonProps={{ 'aria-label': `Show or hide: ${label}`, tabIndex: 0 }}
      {...(hint === undefined ? {} : { description: hint })}
      {...(isFirst ? { 'data-autofocus': true } : {})}
    />
  )
}
