import { Modal } from '@mantine/core'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { AlwaysAllowForm } from './always-allow-form.tsx'

type Props = { readonly card: ApprovalCard; readonly isOpen: boolean; readonly onClose: () => void }

export function AlwaysAllowDialog({ card, isOpen, onClose }: Props) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Always allow"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <AlwaysAllowForm card={card} onClose={onClose} />
    </Modal>
  )
}
