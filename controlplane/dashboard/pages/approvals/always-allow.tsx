import { Button, Modal } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ApprovalCard } from '../../../../core/wire/internal.ts'
import { AlwaysAllowForm } from './always-allow-form.tsx'

/** "Allow this from now on": the permission is shown before anything is saved. */
export function AlwaysAllow({ card }: { readonly card: ApprovalCard }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  return (
    <>
      <div>
        <Button variant="subtle" size="compact-sm" onClick={open}>
          Allow this from now on …
        </Button>
      </div>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Allow this from now on"
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <AlwaysAllowForm card={card} onClose={close} />
      </Modal>
    </>
  )
}
