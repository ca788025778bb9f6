import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionName } from '../../../components/decision/action-name.tsx'
import { DecisionBadge } from '../../../components/decision/decision-badge.tsx'
import { Loaded } from '../../../components/layout/loading.tsx'
import { AgoText } from '../../../components/text/time-text.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { useResource } from '../../../live/use-resource.ts'
import { hrefOf } from '../../../routing/page-location.ts'
import { useSession } from '../../../session/session.tsx'

const SHOWN = 10

/** Shows the last requests of the agent. The requests are read when the user opens the list. */
export function AgentHistory({ agent }: { readonly agent: string }) {
  const { may } = useSession()
  const [isOpen, setIsOpen] = useState(false)
  if (!may('records/get')) return null
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Last {SHOWN} requests of the agent</summary>
      {isOpen ? <Requests agent={agent} /> : null}
    </details>
  )
}

function Requests({ agent }: { readonly agent: string }) {
  const records = useResource(
    'GET /api/dashboard/traffic',
    { query: { agent, limit: SHOWN } },
    { on: ['traffic'] },
  )
  return (
    <Loaded of={records}>
      {({ traffic }) => (
        <Stack gap={4} mt={6}>
          {traffic.length === 0 ? (
            <Text size="sm" c="dimmed">
              The agent has sent no other request.
            </Text>
          ) : null}
          {traffic.map((record) => (
            <Group key={record.id} gap="xs" wrap="nowrap" className="min-0">
              <DecisionBadge decision={record.decision} />
              <Text size="sm" component="div" className="grow">
                {record.action_type === null ? (
                  <UntrustedText text={record.host ?? 'no host'} />
                ) : (
                  <ActionName type={record.action_type} />
                )}
              </Text>
              <Text size="xs" c="dimmed" component="span">
                <AgoText at={record.time} />
              </Text>
            </Group>
          ))}
          <Anchor size="sm" underline="always" href={hrefOf('traffic', { agent })}>
            All requests of the agent
          </Anchor>
        </Stack>
      )}
    </Loaded>
  )
}
