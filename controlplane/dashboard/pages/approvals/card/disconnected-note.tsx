import { Alert } from '@mantine/core'
import { Icon } from '../../../components/layout/icon.tsx'

/** The request behind the card has gone away: an answer counts for the next attempt. */
export function DisconnectedNote() {
  return (
    <Alert
      variant="outline"
      color="gray"
      icon={<Icon name="clock" />}
      title="The agent left"
      className="note"
    >
      It no longer waits for the answer. An approval counts if it sends the same request again within five
      minutes of it. After half a minute the card leaves this list, and comes back with the agent.
    </Alert>
  )
}
