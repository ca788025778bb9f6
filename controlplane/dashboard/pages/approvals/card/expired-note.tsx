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
      Nobody answered in time, so the request was refused and nothing was sent. {agent} may ask again, which
      opens a new card.
      <div>
        <Button mt="xs" size="compact-sm" variant="default" onClick={onDismiss}>
          Put away
        </Button>
      </div>
    </Alert>
  )
}
