import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type {
  ChannelBody,
  ChannelName,
  ChannelView,
} from '../../../../core/wire/notifications/notification-channels.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Tone, ToneBadge } from '../../components/layout/tone-badge.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { ChannelDialog } from './channel-dialog.tsx'
import { SlackSteps } from './slack-steps.tsx'

const ABOUT: Readonly<Record<ChannelName, { readonly title: string; readonly about: string }>> = {
  slack: { title: 'Slack', about: 'Cards with the buttons Approve and Deny in a channel.' },
  email: { title: 'E-mail', about: 'A message with a link to the card, by SMTP.' },
  webhook: {
    title: 'Webhook',
    about: 'Signed JSON about each opened and ended approval, for example for PagerDuty.',
  },
  chat_webhook: {
    title: 'Microsoft Teams or another chat',
    about: 'A message with a link, by incoming webhook.',
  },
  web_push: {
    title: 'Web Push',
    about:
      'A notification with the number of pending approvals, in the browsers and on the phones that users have added under Approvals, Notifications.',
  },
}
const STATES: Readonly<Record<ChannelView['state'], { readonly label: string; readonly tone: Tone }>> = {
  off: { label: 'Off', tone: 'quiet' },
  unproven: { label: 'Nothing sent yet', tone: 'wait' },
  ok: { label: 'Working', tone: 'good' },
  failing: { label: 'Failing', tone: 'bad' },
}

/** Lists the channels that announce held requests to approvers, with their last deliveries and errors. */
export function Channels() {
  const list = useResource('GET /api/dashboard/notification-channels', {}, { everyMs: 10_000 })
  return (
    <Panel title="Channels">
      <Text size="sm" c="dimmed" mb="sm">
        Channels notify approvers of pending approvals. Messages link to the card; opening the link does not
        answer the approval.
      </Text>
      <Loaded of={list}>
        {({ channels }) => (
          <Stack gap="md">
            {channels.map((channel) => (
              <Channel key={channel.name} channel={channel} onDone={list.reload} />
            ))}
          </Stack>
        )}
      </Loaded>
    </Panel>
  )
}

type Props = { readonly channel: ChannelView; readonly onDone: () => void }

function Channel({ channel, onDone }: Props) {
  const { name, state } = channel
  const { title, about } = ABOUT[name]
  return (
    <section aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div className="grow-long">
          <Group gap="xs">
            <Text fw={600} component="h3" size="md">
              {title}
            </Text>
            <ToneBadge tone={STATES[state].tone}>{STATES[state].label}</ToneBadge>
          </Group>
          <Text size="sm" c="dimmed">
            {about}
          </Text>
          {state === 'off' ? null : <LastDelivery channel={channel} />}
        </div>
        <Buttons channel={channel} title={title} onDone={onDone} />
      </Group>
      {name === 'slack' ? <SlackSteps isOpen={state === 'off'} /> : null}
    </section>
  )
}

function LastDelivery({ channel }: { readonly channel: ChannelView }) {
  const { state, last_delivered_at: deliveredAt, last_failed_at: failedAt, last_error: error } = channel
  return (
    <Text size="sm" component="div">
      Last delivery: <TimeText at={deliveredAt} />
      {failedAt === null ? null : (
        <>
          {' '}
          · {state === 'failing' ? 'Error' : 'Last error'} <TimeText at={failedAt} />:{' '}
          <UntrustedText text={error ?? ''} canGrow />
        </>
      )}
    </Text>
  )
}

function hasSettings(name: ChannelName): name is ChannelBody['name'] {
  return name !== 'slack' && name !== 'web_push'
}

function Buttons({ channel: { name, state, settings }, title, onDone }: Props & { readonly title: string }) {
  const [isOpen, setIsOpen] = useState(false)
  const [result, setResult] = useState<string | null>(null)
  const test = useMutation(async () => {
    setResult(null)
    const { ok, error } = await call('POST /api/dashboard/notification-channels/test', { body: { name } })
    setResult(ok ? 'The test message was delivered.' : `The test message failed: ${error ?? ''}`)
    onDone()
  })
  return (
    <Stack gap={4} align="flex-end">
      <Group gap="xs" justify="flex-end">
        {hasSettings(name) ? (
          <Button size="xs" variant="default" onClick={() => setIsOpen(true)} aria-label={`Set up ${title}`}>
            {state === 'off' ? 'Set up' : 'Edit'}
          </Button>
        ) : null}
        {state === 'off' ? null : (
          <Button
            size="xs"
            variant="default"
            onClick={() => test.run()}
            loading={test.isBusy}
            aria-label={`Send a test by ${title}`}
          >
            Send a test
          </Button>
        )}
        {settings === null ? null : (
          <ConfirmButton
            label="Remove"
            ariaLabel={`Remove ${title}`}
            title={`Remove ${title}`}
            onConfirm={async () => {
              if (hasSettings(name))
                await call('PUT /api/dashboard/notification-channels', { body: { name, settings: null } })
              onDone()
            }}
          >
            Approvers receive no more messages through this channel. Its settings are deleted.
          </ConfirmButton>
        )}
      </Group>
      <Text size="sm" role="status" className="min-0">
        {result === null ? '' : <UntrustedText text={result} />}
      </Text>
      {test.error === null ? null : <ErrorNote error={test.error} />}
      {isOpen && hasSettings(name) ? (
        <ChannelDialog
          name={name}
          title={title}
          settings={settings}
          onClose={() => setIsOpen(false)}
          onDone={onDone}
        />
      ) : null}
    </Stack>
  )
}
