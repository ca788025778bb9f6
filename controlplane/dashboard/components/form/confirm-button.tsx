import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { ErrorNote } from '../layout/error-note.tsx'
import { useMutation } from './use-mutation.ts'

type Props = ButtonProps & {
  /** Label of the button and of the confirmation in the dialog. */
  readonly label: string
  readonly ariaLabel?: string
  readonly title: string
  /** Description of the consequences, which the confirmation dialog shows. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<void>
}

/** Renders a button with a confirmation dialog, for operations that cannot be undone. */
export function ConfirmButton({ label, ariaLabel, title, children, onConfirm, ...button }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const mutation = useMutation(async () => {
    await onConfirm()
    close()
  })
  const dismiss = () => {
    mutation.reset()
    close()
  }
  return (
    <>
      <Button
        variant="default"
        size="xs"
        onClick={open}
        {...button}
        {...(ariaLabel === undefined ? {} : { 'aria-label': ariaLabel })}
      >
        {label}
      </Button>
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
    </>
  )
}
