import { Alert } from '@mantine/core'
import { Icon } from '../../../components/layout/icon.tsx'

/**
 * Renders a notice that the client disconnected from the held request. An approval then applies to the next attempt of
 * the client.
 */
export function DisconnectedNote() {
  return (
    <Alert
      variant="outline"
      color="gray"
      icon={<Icon name="clock" />}
      title="The agent disconnected"
      className="note"
    >
      The connection of the request was closed. An approval applies if the agent repeats the same request
      within five minutes. The card is removed after 30 seconds and reappears when the agent repeats the
      request.
    </Alert>
  )
}
