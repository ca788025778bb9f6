import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { KillSwitchDialog } from '../../lazy-dialogs.ts'

const PATIENCE_MS = 1_500

/** On every page, for everybody who may stop. */
export function KillSwitchButton() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  useEffect(() => {
    // There before it is needed: whoever stops things has no time, and the network may be what is wrong.
    const timer = setTimeout(KillSwitchDialog.preload, PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <>
      <Button className="danger" leftSection={<Icon name="stop" />} onClick={show} size="sm">
        Stop
      </Button>
      {wasOpened ? <KillSwitchDialog isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
