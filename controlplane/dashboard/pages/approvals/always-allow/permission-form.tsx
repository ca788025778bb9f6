import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { call } from '../../../api/client.ts'
import { useMutation } from '../../../components/form/use-mutation.ts'
import { ErrorNote } from '../../../components/layout/error-note.tsx'
import { CopyText } from '../../../components/text/copy-text.tsx'
import { useResource } from '../../../live/use-resource.ts'
import { manifestOf, patternOf, proposalFor, type Reach, type Width } from './permission-proposal.ts'

type Props = { readonly card: ApprovalCard; readonly onClose: () => void }

/** Shows the permission that allows future requests with the action of the card, and saves it. */
export function PermissionForm({ card, onClose }: Props) {
  const agents = useResource('GET /api/dashboard/agents', {})
  const [reach, setReach] = useState<Reach>('this_agent')
  const [width, setWidth] = useState<Width>('this_action')
  const [isSaved, setIsSaved] = useState(false)
  const gateway = agents.data?.agents.find(({ name }) => name === card.agent)?.gateway ?? null
  const proposal = gateway === null ? null : proposalFor(card, gateway, { reach, width })
  const save = useMutation(async () => {
    if (proposal === null) return
    await call('POST /api/dashboard/permissions', { body: proposal })
    setIsSaved(true)
  })
  if (isSaved) return <Saved onClose={onClose} />
  if (agents.data !== null && gateway === null) return <NoGateway agent={card.agent} />
  return (
    <Stack gap="md">
      <Radio.Group label="Agents" value={reach} onChange={(value) => setReach(value as Reach)}>
        <Group mt={6}>
          <Radio value="this_agent" label={`Only ${card.agent}`} />
          <Radio value="every_agent" label="All agents of its gateway" />
        </Group>
      </Radio.Group>
      <Radio.Group label="Actions" value={width} onChange={(value) => setWidth(value as Width)}>
        <Group mt={6}>
          <Radio value="this_action" label={card.action_type} />
          <Radio value="this_resource" label={patternOf(card.action_type, 'this_resource')} />
        </Group>
      </Radio.Group>
      {agents.error === null ? null : <ErrorNote error={agents.error} onRetry={agents.reload} />}
      {proposal === null ? null : <CopyText label="permission" text={manifestOf(proposal)} />}
      {save.error === null ? null : <ErrorNote error={save.error} />}
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Nothing is saved yet. This request still needs its own answer.
        </Text>
        <Button onClick={() => save.run()} loading={save.isBusy} disabled={proposal === null}>
          Save permission
        </Button>
      </Group>
    </Stack>
  )
}

function NoGateway({ agent }: { readonly agent: string }) {
  return (
    <Alert color="gray" variant="outline" title="No gateway" className="note">
      Agent {agent} has no gateway, and permissions belong to gateways. So no permission can be saved for it,
      and only policies decide about its actions.
    </Alert>
  )
}

function Saved({ onClose }: { readonly onClose: () => void }) {
  return (
    <Stack gap="md">
      <Text role="status">
        The permission is saved. Gateways apply the permission within a second, and the next request of this
        kind is allowed. This request still needs its own answer.
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  )
}
