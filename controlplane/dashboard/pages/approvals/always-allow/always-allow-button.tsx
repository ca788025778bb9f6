import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/internal.ts'
import { AlwaysAllowDialog } from '../../../lazy-dialogs.ts'

/** "Allow this from now on": the permission is shown before anything is saved. */
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
          Allow this from now on …
        </Button>
      </div>
      {wasOpened ? <AlwaysAllowDialog card={card} isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
