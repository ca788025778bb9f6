import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { CopyText } from '../../components/text/copy-text.tsx'

/** Shows and rotates the webhook secret. The page loads the secret only when the user requests it. */
export function WebhookSecret() {
  const [secret, setSecret] = useState<string | null>(null)
  const show = useMutation(async () => {
    setSecret((await call('GET /api/dashboard/settings/webhook-secret', {})).webhook_secret)
  })
  return (
    <Panel title="Webhook secret">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Notifications are signed with this secret (Standard Webhooks). After a rotation they are also signed
          with the previous secret, until the next rotation.
        </Text>
        {secret === null ? null : <CopyText label="webhook secret" text={secret} />}
        {show.error === null ? null : <ErrorNote error={show.error} />}
        <Group gap="sm">
          {secret === null ? (
            <Button size="xs" variant="default" onClick={() => show.run()} loading={show.isBusy}>
              Show
            </Button>
          ) : (
            <Button size="xs" variant="default" onClick={() => setSecret(null)}>
              Hide
            </Button>
          )}
          <ConfirmButton
            label="Rotate"
            title="Rotate the webhook secret"
            onConfirm={async () => {
              const made = await call('POST /api/dashboard/settings/webhook-secret', { body: {} })
              setSecret(made.webhook_secret)
            }}
          >
            The secret shown until now stays valid until the next rotation. Receivers with an older secret can
            no longer verify notifications.
          </ConfirmButton>
        </Group>
      </Stack>
    </Panel>
  )
}
