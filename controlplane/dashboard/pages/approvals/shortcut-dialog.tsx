import { Group, Kbd, Modal, Stack, Text } from '@mantine/core'
import { INBOX_KEYS } from './use-inbox-keys.ts'

const LINES = [
  ...INBOX_KEYS,
  { key: 'Enter', description: 'activate' },
  { key: '?', description: 'show this list' },
]

export function ShortcutDialog({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Keyboard shortcuts"
      size="sm"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack gap={8}>
        {LINES.map(({ key, description }) => (
          <Group key={key} gap="sm">
            <Kbd>{key}</Kbd>
            <Text size="sm">{description}</Text>
          </Group>
        ))}
      </Stack>
    </Modal>
  )
}
