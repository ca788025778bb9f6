import { ActionIcon, Button, Kbd } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { CommandPalette } from '../../lazy-dialogs.ts'
import type { PageEntry } from '../../pages/page-list.tsx'

/**
 * Renders the button that opens the palette; on narrow screens, the button is an icon. Ctrl+K and ⌘K open the palette
 * on every page, even while a field has the focus.
 */
export function PaletteButton({ pages }: { readonly pages: readonly PageEntry[] }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [wasOpened, setWasOpened] = useState(false)
  const show = () => {
    setWasOpened(true)
    open()
  }
  useHotkeys([['mod+K', show]], [])
  return (
    <>
      <Button
        variant="default"
        size="sm"
        leftSection={<Icon name="search" size={16} />}
        rightSection={<Kbd size="xs">{isMac() ? '⌘' : 'Ctrl'} K</Kbd>}
        onClick={show}
        onPointerEnter={CommandPalette.preload}
        visibleFrom="md"
      >
        Go to
      </Button>
      <ActionIcon
        variant="default"
        size={36}
        onClick={show}
        onPointerEnter={CommandPalette.preload}
        hiddenFrom="md"
        aria-label="Go to"
      >
        <Icon name="search" size={18} />
      </ActionIcon>
      {wasOpened ? <CommandPalette pages={pages} isOpen={isOpen} onClose={close} /> : null}
    </>
  )
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent)
}
