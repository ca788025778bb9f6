import { Button } from '@mantine/core'
import { useDisclosure, useWindowEvent } from '@mantine/hooks'
import { useState } from 'react'
import { ShortcutDialog } from '../../lazy-dialogs.ts'
import { isTyping } from './use-inbox-keys.ts'

/** What the keys of the inbox do; a telephone has none. */
export function ShortcutHelp() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  // By what it writes: keyboards have it in different places.
  useWindowEvent('keydown', (event) => {
    if (event.key === '?' && !isTyping(event.target)) show()
  })
  return (
    <>
      <Button variant="default" size="sm" visibleFrom="sm" onClick={show} aria-keyshortcuts="?">
        Keyboard
      </Button>
      {wasOpened ? <ShortcutDialog isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
