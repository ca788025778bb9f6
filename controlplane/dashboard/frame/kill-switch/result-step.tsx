import { Alert, Button, Group, RingProgress, Stack, Text } from '@mantine/core'
import type { KillSwitchReply } from '../../../../core/wire/kill-switch.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { scopeLabel } from './scope.ts'

/**
 * Renders the second step of the kill switch dialog, which shows how many gateways have acknowledged the kill switch.
 */
export function ResultStep(props: {
  readonly reply: KillSwitchReply
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
            {acked} of {total} {total === 1 ? 'gateway' : 'gateways'} acknowledged in {Math.round(ms)} ms
          </Text>
          <Text size="sm" c="dimmed">
            The kill switch is active for {scopeLabel(props.scope)}. Gateways that connect later apply it when
            they connect.
          </Text>
        </div>
      </Group>
      {isComplete ? null : (
        <Alert
          color="orange"
          variant="outline"
          icon={<Icon name="warning" />}
          title="Not every gateway has acknowledged"
          className="note"
        >
          A gateway that has lost the control plane refuses high-risk actions after 30 s and all writes after
          2 minutes. It applies the kill switch when it reconnects.
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
