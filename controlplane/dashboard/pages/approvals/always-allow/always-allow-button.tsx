import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { AlwaysAllowDialog } from '../../../lazy-dialogs.ts'

/**
 * Renders a button for a permission that allows future requests with the action of the card. The button opens a dialog
 * that shows the permission before it is saved.
 */
export function AlwaysAllowButton({ card }: { readonly card: ApprovalCard }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  return (
    <>
      <div>
        <Button variant="subtle" size="compact-sm" onClick={show}>
          Always allow …
        </Button>
      </div>
      {wasOpened ? <AlwaysAllowDialog card={card} isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
