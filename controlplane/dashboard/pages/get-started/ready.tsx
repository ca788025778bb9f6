import { Alert, Stack, Text } from '@mantine/core'
import type { SetUpGatewayReply } from '../../../../core/wire/gateways.ts'
import { DemoScenarios } from '../../components/decision/demo-scenarios.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { CopyText } from '../../components/text/copy-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { agentCommands, gatewayCommand } from './agent-commands.ts'
import type { Draft } from './draft.ts'
import { FirstRequest } from './first-request.tsx'

/**
 * Shows the result of the wizard: the agent's key, the commands that start the agent, and the agent's first request.
 */
export function Ready({ reply, draft }: { readonly reply: SetUpGatewayReply; readonly draft: Draft }) {
  const overview = useResource('GET /api/dashboard/overview', {}, { on: ['gateways'] })
  const gateway = overview.data?.gateways.find(({ id }) => id === reply.gateway_id)
  const { host, port } = gateway ?? draft.gateway
  const { command } = useSession()
  const agent = draft.agent.name.trim()
  const isLocal = reply.gateway_name === 'default/local'
  return (
    <Stack gap="md">
      {reply.api_key === null ? null : <Key apiKey={reply.api_key} agent={agent} />}
      {reply.gateway_token === null ? null : (
        <Panel title="Start the gateway">
          <Text size="sm" c="dimmed" mb="xs">
            The command contains the enrolment token of the gateway, which is shown only once. Copy it now.
          </Text>
          <CopyText
            label="gateway command"
            text={gatewayCommand(location.origin, reply.gateway_token, port)}
          />
        </Panel>
      )}
      <Panel title="Start the agent">
        <Stack gap="md">
          {agentCommands({ command, agent, apiKey: reply.api_key, host, port, isLocal }).map(
            ({ title, about, text }) => (
              <div key={title}>
                <Text fw={600} component="h3" size="sm">
                  {title}
                </Text>
                <Text size="sm" c="dimmed" mb={6}>
                  {about}
                </Text>
                <CopyText label={`command, ${title.toLowerCase()}`} text={text} />
              </div>
            ),
          )}
        </Stack>
      </Panel>
      <FirstRequest agent={agent} />
      <Panel title="Examples">
        <Text size="sm" c="dimmed">
          A built-in agent without credentials submits these example actions. Your current policies decide
          them.
        </Text>
        <DemoScenarios />
      </Panel>
    </Stack>
  )
}

function Key({ apiKey, agent }: { readonly apiKey: string; readonly agent: string }) {
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="shield" />}
      title={`The key of ${agent}, shown only once`}
      className="note"
    >
      <Text size="sm" mb="xs">
        The key cannot be shown again, only replaced. The local gateway requires no key: each agent has a port
        of its own there.
      </Text>
      <CopyText label="key" text={apiKey} />
    </Alert>
  )
}
