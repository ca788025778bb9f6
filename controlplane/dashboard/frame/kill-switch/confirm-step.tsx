import { Button, Group, Stack, Text } from '@mantine/core'
import type { ApiError } from '../../api/api-error.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { scopeLabel } from './scope.ts'
import type { KillSwitchRequest } from './scope-form.tsx'

/** The second step: what it means, in plain words. */
export function ConfirmStep(props: {
  readonly request: KillSwitchRequest
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly onBack: () => void
  readonly onStop: () => void
}) {
  const { request, isBusy, error, onBack, onStop } = props
  const what = scopeLabel(request.scope)
  return (
    <Stack gap="md">
      <Text>
        <strong>{what}</strong> stops within moments: new requests are refused, held ones end, open streams
        and tunnels are cut. It stays so until an admin lifts it.
      </Text>
      <Text size="sm" c="dimmed">
        Reason: {request.reason}
      </Text>
      {error === null ? null : <ErrorNote error={error} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack} disabled={isBusy}>
          Back
        </Button>
        <Button className="danger" onClick={onStop} loading={isBusy} data-autofocus>
          Stop{' '}
          {what === 'Everything'
            ? 'everything'
            : what.toLowerCase().startsWith('the ')
              ? what.slice(4)
              : what}{' '}
          now
        </Button>
      </Group>
    </Stack>
  )
}
