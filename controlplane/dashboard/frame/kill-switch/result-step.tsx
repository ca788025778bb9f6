import { Alert, Button, Group, RingProgress, Stack, Text } from '@mantine/core'
import type { KillReply } from '../../api/shapes.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { scopeLabel } from './scope.ts'

/** How many gateways said that they have stopped. */
export function ResultStep(props: {
  readonly reply: KillReply
  readonly scope: string
  readonly onClose: () => void
}) {
  const { acked, total, ms } = props.reply.acknowledged
  const isComplete = acked === total
  return (
    <Stack gap="md">
      <Group wrap="nowrap" role="status">
        <RingProgress
          size={84}
          thickness={9}
          roundCaps
          sections={[
            { value: total === 0 ? 0 : (acked / total) * 100, color: isComplete ? 'teal' : 'orange' },
          ]}
          label={
            <Text ta="center" fw={700}>
              {acked}/{total}
            </Text>
          }
        />
        <div>
          <Text fw={650}>
            {acked} of {total} {total === 1 ? 'gateway' : 'gateways'} stopped in {Math.round(ms)} ms
          </Text>
          <Text size="sm" c="dimmed">
            {scopeLabel(props.scope)} is stopped. New gateways learn it when they connect.
          </Text>
        </div>
      </Group>
      {isComplete ? null : (
        <Alert
          color="orange"
          variant="outline"
          icon={<Icon name="warning" />}
          title="Not all have answered"
          className="note"
        >
          A gateway that is away refuses high-risk actions 30 s after it lost the control plane and all writes
          after 2 minutes; it stops the moment it is back.
        </Alert>
      )}
      {props.reply.warning === undefined ? null : (
        <Alert color="orange" variant="outline" title="Not stored yet" className="note">
          {props.reply.warning}
        </Alert>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={props.onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  )
}
