import { Alert, Button } from '@mantine/core'
import { Icon } from '../../../components/layout/icon.tsx'

export function ExpiredNote({
  agent,
  onDismiss,
}: {
  readonly agent: string
  readonly onDismiss: () => void
}) {
  return (
    <Alert variant="outline" color="gray" icon={<Icon name="clock" />} title="Expired" className="note">
      No approver answered in time. The gateway refused the request; nothing was sent. If {agent} repeats the
      request, a new card appears.
      <div>
        <Button mt="xs" size="compact-sm" variant="default" onClick={onDismiss}>
          Dismiss
        </Button>
      </div>
    </Alert>
  )
}
