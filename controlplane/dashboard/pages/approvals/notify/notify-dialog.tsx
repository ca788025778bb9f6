import { Button, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { WebPush } from './web-push.tsx'

type Props = { readonly isOpen: boolean; readonly onClose: () => void }

/**
 * Shows the notification settings of the user: for notifications that this browser shows while a page is open, and
 * for Web Push.
 */
export function NotifyDialog({ isOpen, onClose }: Props) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Notifications"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="lg">
        <Text size="sm">
          Notifications contain only the number of pending approvals, because they are shown on locked
          screens.
        </Text>
        <OpenPage />
        <WebPush />
      </Stack>
    </Modal>
  )
}

/**
 * Requests the permission to show notifications of the browser. Open pages of the dashboard show these notifications.
 */
function OpenPage() {
  const [permission, setPermission] = useState(() =>
    'Notification' in window ? Notification.permission : 'denied',
  )
  return (
    <section aria-label="While a page is open">
      <Text fw={600} component="h3" size="md">
        While a page is open
      </Text>
      <Text size="sm" role="status">
        {STATES[permission]}
      </Text>
      {permission === 'default' ? (
        <Button
          mt="xs"
          size="xs"
          variant="default"
          onClick={() => {
            void Notification.requestPermission().then(setPermission)
          }}
        >
          Notify me in this browser
        </Button>
      ) : null}
    </section>
  )
}

const STATES: Readonly<Record<NotificationPermission, string>> = {
  default:
    'Not permitted yet. Once you permit notifications, an open page of the dashboard announces pending approvals while you use another tab or window.',
  granted: 'An open page of the dashboard announces pending approvals while you use another tab or window.',
  denied: 'This browser blocks notifications from this page. Allow them in the settings of the browser.',
}
