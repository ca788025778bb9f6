import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { NotifyDialog } from '../../../lazy-dialogs.ts'
import { useSession } from '../../../session/session.tsx'

/**
 * Renders the button that opens the notification settings of the user. Renders nothing for a user who may not answer.
 */
export function NotifyButton() {
  const { may } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  if (!may('approvals/answer')) return null
  const show = () => {
    setWasOpened(true)
    open()
  }
  return (
    <>
      <Button variant="default" onClick={show}>
        Notifications
      </Button>
      {wasOpened ? <NotifyDialog isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
