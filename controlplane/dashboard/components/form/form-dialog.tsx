import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorNote } from '../layout/error-note.tsx'
import type { Mutation } from './use-mutation.ts'

type Props = {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Label of the submit button. */
  readonly label: string
  readonly isReady: boolean
  readonly mutation: Mutation<[]>
  readonly size?: string
  readonly children: ReactNode
}

/** Renders a dialog with a form: Enter submits, Escape closes, errors are shown above the buttons. */
export function FormDialog({
  title,
  isOpen,
  onClose,
  label,
  isReady,
  mutation,
  size = 'md',
  children,
}: Props) {
  const dismiss = () => {
    mutation.reset()
    onClose()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={dismiss}
      title={title}
      size={size}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          // React propagates the event to a form around the dialog component, although the dialog is at another place
          // in the document.
          event.stopPropagation()
          if (isReady) mutation.run()
        }}
      >
        <Stack gap="md">
          {children}
          {mutation.error === null ? null : <ErrorNote error={mutation.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={dismiss}>
              Cancel
            </Button>
            <Button type="submit" disabled={!isReady} loading={mutation.isBusy}>
              {label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
