import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { NotificationView } from '../../../../core/wire/notifications/notifications.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { type Tone, ToneBadge } from '../../components/layout/tone-badge.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'

type State = NotificationView['state']

const STATES: ReadonlyArray<{ readonly value: State; readonly label: string }> = [
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Failed' },
  { value: 'obsolete', label: 'Obsolete' },
]
const TONES: Readonly<Record<State, Tone>> = {
  pending: 'wait',
  delivered: 'good',
  dead: 'bad',
  obsolete: 'quiet',
}
const LIMIT = 50

/** Lists the webhook notifications with their delivery state. */
export function Notifications() {
  const [state, setState] = useState<State | null>(null)
  const sent = useResource(
    'GET /api/dashboard/notifications',
    { query: { limit: LIMIT, ...(state === null ? {} : { state }) } },
    { everyMs: 10_000 },
  )
  const retry = useMutation(async (event_id: string) => {
    await call('POST /api/dashboard/notifications', { body: { event_id, action: 'retry' } })
    sent.reload()
  })
  return (
    <Panel
      title="Notifications"
      aside={
        <Select
          aria-label="State"
          placeholder="All"
          size="xs"
          data={[...STATES]}
          value={state}
          onChange={(value) => setState(value as State | null)}
          clearable
          clearButtonProps={{ 'aria-label': 'All states' }}
        />
      }
    >
      <Stack gap="sm">
        {retry.error === null ? null : <ErrorNote error={retry.error} />}
        <Loaded of={sent}>
          {({ notifications, total }) =>
            notifications.length === 0 ? (
              <EmptyState icon="quote" title="No notifications">
                Decisions about actions with a webhook_url are sent to that URL, signed with the secret above.
                If a team chat (Slack) is configured, its channel receives approval requests.
              </EmptyState>
            ) : (
              <>
                <List rows={notifications} isBusy={retry.isBusy} onRetry={retry.run} />
                {total > notifications.length ? (
                  <Text size="sm" c="dimmed">
                    The latest {notifications.length} of {total}.
                  </Text>
                ) : null}
              </>
            )
          }
        </Loaded>
      </Stack>
    </Panel>
  )
}

function List(props: {
  readonly rows: readonly NotificationView[]
  readonly isBusy: boolean
  readonly onRetry: (id: string) => void
}) {
  const { rows, isBusy, onRetry } = props
  return (
    <RowTable
      rows={rows}
      keyOf={({ event_id }) => event_id}
      columns={[
        { head: 'Event', isWhole: true, cell: ({ event }) => event },
        { head: 'State', isWhole: true, cell: (row) => <StateCell row={row} /> },
        { head: 'Receiver', cell: ({ receiver }) => <UntrustedText text={receiver} /> },
        { head: 'Attempts', isWhole: true, cell: ({ attempts }) => attempts },
        { head: 'Time', isWhole: true, cell: ({ created_at }) => <TimeText at={created_at} /> },
      ]}
      actions={(row) =>
        row.state === 'dead' ? (
          <Button
            size="xs"
            variant="default"
            onClick={() => onRetry(row.event_id)}
            disabled={isBusy}
            aria-label={`Send ${row.event} again`}
          >
            Send again
          </Button>
        ) : null
      }
    />
  )
}

function StateCell({ row: { state, last_error, last_status } }: { readonly row: NotificationView }) {
  const label = STATES.find(({ value }) => value === state)?.label ?? state
  return (
    <Group gap="xs">
      <ToneBadge tone={TONES[state]}>{last_status === null ? label : `${label} (${last_status})`}</ToneBadge>
      {last_error === null ? null : (
        <Text size="sm" c="dimmed" component="span">
          <UntrustedText text={last_error} />
        </Text>
      )}
    </Group>
  )
}
