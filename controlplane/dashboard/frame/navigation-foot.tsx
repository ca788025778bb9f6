import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { Icon } from '../components/layout/icon.tsx'
import { HelpDialog } from '../lazy-dialogs.ts'
import { useSession } from '../session/session.tsx'

/** Renders the button of the help dialog and the version below the navigation. */
export function NavigationFoot() {
  const { version } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  return (
    <div className="nav-foot">
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<Icon name="explain" size={16} />}
        onClick={show}
        onPointerEnter={HelpDialog.preload}
      >
        Help
      </Button>
      <Text size="xs" c="dimmed" component="span">
        Version {version}
      </Text>
      {wasOpened ? <HelpDialog isOpen={isOpen} onClose={close} /> : null}
    </div>
  )
}
