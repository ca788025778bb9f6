import { Modal } from '@mantine/core'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { GrantForm } from './grant-form.tsx'

type Props = {
  readonly card: ApprovalCard
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onAnswered: () => void
}

export function GrantDialog({ card, isOpen, onClose, onAnswered }: Props) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Grant for a time"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <GrantForm card={card} onAnswered={onAnswered} />
    </Modal>
  )
}
