import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { KillSwitchDialog } from '../../lazy-dialogs.ts'

const PRELOAD_DELAY_MS = 1_500

/** Renders the button that opens the kill switch dialog, on every page. */
export function KillSwitchButton() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  useEffect(() => {
    // Loads the dialog before the user needs it, because the network may be slow or unreachable during an incident.
    const timer = setTimeout(KillSwitchDialog.preload, PRELOAD_DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <>
      <Button className="danger" leftSection={<Icon name="stop" />} onClick={show} size="sm">
        Kill switch
      </Button>
      {wasOpened ? <KillSwitchDialog isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
