import { Text } from '@mantine/core'
import { CopyText } from '../../components/text/copy-text.tsx'

/**
 * Shows how to create the Slack app: its manifest with scopes and callback address, and the settings in which its
 * values must be entered.
 */
export function SlackSteps({ isOpen }: { readonly isOpen: boolean }) {
  const callback = `${location.origin}/api/integrations/chat`
  return (
    <details open={isOpen} className="steps">
      <summary>Set up the Slack app</summary>
      <ol>
        <li>
          At api.slack.com/apps choose Create New App, From a manifest, and paste this manifest. It requests
          the scopes chat:write, users:read and users:read.email.
          <CopyText label="Slack app manifest" text={manifestOf(callback)} />
        </li>
        <li>
          Slack sends clicks to the callback address. It must be reachable from the internet over https.
          <CopyText label="callback address" text={callback} />
        </li>
        <li>
          Install the app in the workspace. Copy the Bot User OAuth Token (xoxb-…) of OAuth &amp; Permissions
          and the Signing Secret of Basic Information into the fields above.
        </li>
        <li>
          Invite the bot to the channel (/invite @Chaperone). Copy the channel id (C…) from the details of the
          channel into the field Channel.
        </li>
        <li>Save, then send a test.</li>
      </ol>
      <Text size="sm" c="dimmed" mt="xs">
        Users answer with the e-mail address of their Slack account, which must be that of their Chaperone
        account.
      </Text>
    </details>
  )
}

function manifestOf(callback: string): string {
  return JSON.stringify(
    {
      display_information: { name: 'Chaperone', description: 'Approvals of what agents do' },
      features: { bot_user: { display_name: 'Chaperone', always_online: true } },
      oauth_config: { scopes: { bot: ['chat:write', 'users:read', 'users:read.email'] } },
      settings: {
        interactivity: { is_enabled: true, request_url: callback },
        org_deploy_enabled: false,
        socket_mode_enabled: false,
        token_rotation_enabled: false,
      },
    },
    null,
    2,
  )
}
