import { Group, Radio, Select, Stack, TextInput } from '@mantine/core'
import { Loaded } from '../../components/layout/loading.tsx'
import { nameProblem } from '../../labels/plain-name.ts'
import { useResource } from '../../live/use-resource.ts'
import type { Draft } from './draft.ts'

type Props = { readonly agent: Draft['agent']; readonly onChange: (agent: Draft['agent']) => void }

/** Renders step 2 of the wizard: the user creates an agent or selects an existing one. */
export function AgentStep({ agent, onChange }: Props) {
  const agents = useResource('GET /api/dashboard/agents', {})
  return (
    <Loaded of={agents}>
      {({ agents: all }) => {
        const names = all.filter(({ status }) => status === 'active').map(({ name }) => name)
        return (
          <Stack gap="md">
            <Radio.Group
              label="Agent"
              description="Policies, permissions, approvals and records identify the agent by its name."
              value={agent.isNew ? 'new' : 'existing'}
              onChange={(value) =>
                onChange({ isNew: value === 'new', name: value === 'new' ? '' : (names[0] ?? '') })
              }
            >
              <Group mt="xs">
                <Radio value="new" label="New agent" />
                <Radio value="existing" label="Existing agent" disabled={names.length === 0} />
              </Group>
            </Radio.Group>
            {agent.isNew ? (
              <TextInput
                label="Name"
                placeholder="release-bot"
                value={agent.name}
                onChange={(event) => onChange({ ...agent, name: event.currentTarget.value })}
                error={
                  names.includes(agent.name.trim())
                    ? 'An agent with this name exists. Choose another name.'
                    : nameProblem(agent.name.trim())
                }
                required
                data-autofocus
              />
            ) : (
              <Select
                label="Name"
                description="The agent keeps its key and moves to the gateway that you chose in the first step."
                data={names}
                value={agent.name}
                onChange={(name) => onChange({ ...agent, name: name ?? '' })}
                allowDeselect={false}
              />
            )}
          </Stack>
        )
      }}
    </Loaded>
  )
}
