import { Button, Group, Stack, Text } from '@mantine/core'
import type { ApiError } from '../../api/api-error.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { scopeLabel } from './scope.ts'
import type { KillSwitchRequest } from './scope-form.tsx'

/** Second step of the kill switch dialog: shows the consequences and asks the user to confirm. */
export function ConfirmStep(props: {
  readonly request: KillSwitchRequest
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly onBack: () => void
  readonly onConfirm: () => void
}) {
  const { request, isBusy, error, onBack, onConfirm } = props
  return (
    <Stack gap="md">
      <Text>
        Scope: <strong>{scopeLabel(request.scope)}</strong>. Within moments gateways refuse new requests, end
        held requests, and close open streams and tunnels in this scope. The kill switch stays active until an
        admin deactivates it.
      </Text>
      <Text size="sm" c="dimmed">
        Reason: {request.reason}
      </Text>
      {error === null ? null : <ErrorNote error={error} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack} disabled={isBusy}>
          Back
        </Button>
        <Button className="danger" onClick={onConfirm} loading={isBusy} data-autofocus>
          Activate the kill switch
        </Button>
      </Group>
    </Stack>
  )
}
