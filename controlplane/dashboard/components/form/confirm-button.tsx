import { Button, type ButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

type Props = ButtonProps & {
  /** Label of the button and of the confirmation in the dialog. */
  readonly label: string
  readonly ariaLabel?: string
  readonly title: string
  /** Description of the consequences, which the confirmation dialog shows. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<void>
}

/**
 * Renders a button for an operation that cannot be undone. A click opens a dialog in which the user confirms the
 * operation.
 */
export function ConfirmButton({ label, ariaLabel, title, children, onConfirm, ...button }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false)
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
      <ConfirmDialog {...{ title, label, isOpen, onConfirm }} onClose={close}>
        {children}
      </ConfirmDialog>
    </>
  )
}
