import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { CopyText } from '../../components/text/copy-text.tsx'

/** Receivers check signatures with it, so it can be looked at; nobody sees it who does not ask. */
export function WebhookSecret() {
  const [secret, setSecret] = useState<string | null>(null)
  const show = useMutation(async () => {
    setSecret((await call('GET /api/dashboard/settings/webhook-secret', {})).webhook_secret)
  })
  return (
    <Panel title="Webhook secret">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Notifications are signed with it by the Standard Webhooks scheme. After a change the one before
          keeps signing beside it until the next change, so that receivers can follow.
        </Text>
        {secret === null ? null : <CopyText label="webhook secret" text={secret} />}
        {show.error === null ? null : <ErrorNote error={show.error} />}
        <Group gap="sm">
          {secret === null ? (
            <Button size="xs" variant="default" onClick={() => show.run()} loading={show.isBusy}>
              Show it
            </Button>
          ) : (
            <Button size="xs" variant="default" onClick={() => setSecret(null)}>
              Hide it
            </Button>
          )}
          <ConfirmButton
            label="Make a new one"
            title="A new webhook secret"
            onConfirm={async () => {
              const made = await call('POST /api/dashboard/settings/webhook-secret', { body: {} })
              setSecret(made.webhook_secret)
            }}
          >
            Receivers that know only the secret before the present one stop verifying.
          </ConfirmButton>
        </Group>
      </Stack>
    </Panel>
  )
}
