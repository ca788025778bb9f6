import { Button, Group, Stack } from '@mantine/core'
import type { AgentView, PatchAgentBody } from '../../../../core/wire/agents.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { RowMenu } from '../../components/form/row-menu.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import type { FreshKey } from './agents-page.tsx'

type Props = {
  readonly agent: AgentView
  readonly onKey: (key: FreshKey) => void
  readonly onDone: () => void
}

type Action = NonNullable<PatchAgentBody['action']>

export function AgentRowActions({ agent, onKey, onDone }: Props) {
  const { agent_id, name, status } = agent
  const act = async (action: Action) => call('PATCH /api/dashboard/agents', { body: { agent_id, action } })
  const activate = useMutation(async () => {
    await act('activate')
    onDone()
  })
  const actAndReload = async (action: Action) => {
    await act(action)
    onDone()
  }
  if (status === 'revoked') return null
  return (
    <Stack gap={4} align="flex-end">
      <Group gap="xs" justify="flex-end">
        {status === 'suspended' ? (
          <Button
            size="xs"
            variant="default"
            onClick={() => activate.run()}
            loading={activate.isBusy}
            aria-label={`Activate ${name}`}
          >
            Activate
          </Button>
        ) : (
          <ConfirmButton
            label="Suspend"
            ariaLabel={`Suspend ${name}`}
            title={`Suspend ${name}`}
            onConfirm={() => actAndReload('suspend')}
          >
            Gateways refuse the requests of this agent until the agent is activated again, and close its open
            connections. The agent keeps its key.
          </ConfirmButton>
        )}
        <RowMenu
          name={name}
          actions={[
            {
              label: 'New key',
              title: `A new key for ${name}`,
              about: 'The current key stops working immediately. The new key is shown once.',
              onConfirm: async () => {
                const { api_key: key } = await act('rotate_key')
                if (key !== undefined) onKey({ agent: name, key })
              },
            },
            {
              label: 'Revoke',
              title: `Revoke ${name}`,
              about:
                'Gateways refuse the requests of this agent permanently; a revoked agent cannot be activated again. The records of the agent are kept, and another agent can use its name.',
              onConfirm: () => actAndReload('revoke'),
            },
          ]}
        />
      </Group>
      {activate.error === null ? null : <ErrorNote error={activate.error} />}
    </Stack>
  )
}
