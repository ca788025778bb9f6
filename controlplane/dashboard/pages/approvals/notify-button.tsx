import { Button } from '@mantine/core'
import { useState } from 'react'

/** Requests the permission for notifications of the browser. Shows nothing where it was granted or refused already. */
export function NotifyButton() {
  const [permission, setPermission] = useState(() =>
    'Notification' in window ? Notification.permission : 'denied',
  )
  if (permission !== 'default') return null
  return (
    <Button
      size="xs"
      variant="default"
      onClick={() => {
        void Notification.requestPermission().then(setPermission)
      }}
    >
      Notify me in this browser
    </Button>
  )
}
