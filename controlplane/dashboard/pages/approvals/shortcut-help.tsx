import { Button } from '@mantine/core'
import { useDisclosure, useWindowEvent } from '@mantine/hooks'
import { useState } from 'react'
import { ShortcutDialog } from '../../lazy-dialogs.ts'
import { isTyping } from './use-inbox-keys.ts'

/** Renders a button that shows the list of keyboard shortcuts. The button is hidden on narrow screens. */
export function ShortcutHelp() {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  // Compares the typed character, not the key code, because keyboard layouts differ.
  useWindowEvent('keydown', (event) => {
    if (event.key === '?' && !isTyping(event.target)) show()
  })
  return (
    <>
      <Button variant="default" size="sm" visibleFrom="sm" onClick={show} aria-keyshortcuts="?">
        Keyboard shortcuts
      </Button>
      {wasOpened ? <ShortcutDialog isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}
