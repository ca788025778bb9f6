import { Button, Group, Kbd, Popover, Stack, Text } from '@mantine/core'
import { INBOX_KEYS } from './use-inbox-keys.ts'

export function ShortcutHelp() {
  return (
    <Popover position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <Button variant="default" size="sm" visibleFrom="sm">
          Keyboard
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap={6}>
          {INBOX_KEYS.map(({ key, means }) => (
            <Group key={key} gap="sm">
              <Kbd>{key}</Kbd>
              <Text size="sm">{means}</Text>
            </Group>
          ))}
          <Group gap="sm">
            <Kbd>Enter</Kbd>
            <Text size="sm">do it</Text>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
