import { Box, Burger, Group, Text } from '@mantine/core'
import { Icon } from '../components/layout/icon.tsx'
import type { PageEntry } from '../pages/page-list.tsx'
import { useSession } from '../session/session.tsx'
import { UserButton } from './account/user-button.tsx'
import { ColourScheme } from './colour-scheme.tsx'
import { KillSwitchButton } from './kill-switch/kill-switch-button.tsx'
import { LiveIndicator } from './live-indicator.tsx'
import { PaletteButton } from './palette/palette-button.tsx'

export function HeaderBar(props: {
  readonly pages: readonly PageEntry[]
  readonly isNavOpen: boolean
  readonly onToggleNav: () => void
}) {
  const { may } = useSession()
  return (
    <Group h="100%" px={{ base: 'xs', sm: 'md' }} justify="space-between" wrap="nowrap" gap={6}>
      <Group gap="xs" wrap="nowrap">
        <Burger
          opened={props.isNavOpen}
          onClick={props.onToggleNav}
          hiddenFrom="sm"
          size="sm"
          aria-label={props.isNavOpen ? 'Close the navigation' : 'Open the navigation'}
        />
        <Box component="span" className="brand-mark" visibleFrom="xs">
          <Icon name="shield" size={22} />
        </Box>
        <Text fw={700} visibleFrom="xs" component="span">
          Chaperone
        </Text>
        <LiveIndicator />
      </Group>
      <Group gap={6} wrap="nowrap">
        <PaletteButton pages={props.pages} />
        {may('killswitches/activate') ? <KillSwitchButton /> : null}
        <ColourScheme />
        <UserButton />
      </Group>
    </Group>
  )
}
