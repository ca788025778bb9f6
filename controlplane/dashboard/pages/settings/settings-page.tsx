import { Stack } from '@mantine/core'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { useResource } from '../../live/use-resource.ts'
import { Channels } from './channels.tsx'
import { Notifications } from './notifications.tsx'
import { SettingsForm } from './settings-form.tsx'
import { WebhookSecret } from './webhook-secret.tsx'

/** Shows the settings of the installation. */
export function Page() {
  const settings = useResource('GET /api/dashboard/settings', {})
  return (
    <>
      <PageHead
        title="Settings"
        about="Settings of this installation. Secrets are stored encrypted and never shown again."
      />
      <Stack gap="md">
        <Loaded of={settings}>
          {({ settings: values }) => <SettingsForm values={values} onSaved={settings.reload} />}
        </Loaded>
        <Channels />
        <WebhookSecret />
        <Notifications />
      </Stack>
    </>
  )
}
