import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorNote } from '../layout/error-note.tsx'
import { useMutation } from './use-mutation.ts'

type Props = {
  readonly title: string
  /** Label of the confirmation. */
  readonly label: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onConfirm: () => Promise<void>
  /** Description of the consequences. */
  readonly children: ReactNode
}

/** Renders the confirmation of an operation, and shows its error. A success closes the dialog. */
export function ConfirmDialog({ title, label, isOpen, onClose, onConfirm, children }: Props) {
  const mutation = useMutation(async () => {
    await onConfirm()
    onClose()
  })
  const dismiss = () => {
    mutation.reset()
    onClose()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={dismiss}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack gap="md">
        <Text component="div">{children}</Text>
        {mutation.error === null ? null : <ErrorNote error={mutation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={dismiss} data-autofocus>
            Cancel
          </Button>
          <Button className="danger" onClick={() => mutation.run()} loading={mutation.isBusy}>
            {label}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
