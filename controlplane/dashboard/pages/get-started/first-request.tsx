import { Anchor, Group, Loader, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionName } from '../../components/decision/action-name.tsx'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'

/** Shows the first request of the agent when it arrives. */
export function FirstRequest({ agent }: { readonly agent: string }) {
  const [since] = useState(() => new Date().toISOString())
  const traffic = useResource(
    'GET /api/dashboard/traffic',
    { query: { agent, from: since, limit: 1 } },
    { on: ['traffic', 'approvals'], everyMs: 5_000 },
  )
  const first = traffic.data?.traffic[0]
  return (
    <Panel title="First request">
      {traffic.error === null ? null : <ErrorNote error={traffic.error} onRetry={traffic.reload} />}
      <div role="status" className="first-request">
        {first === undefined ? (
          <Group gap="sm">
            <Loader size="sm" type="dots" aria-hidden="true" />
            <Text>
              Waiting for the first request of {agent}. Start it with the command above. This page updates
              automatically.
            </Text>
          </Group>
        ) : (
          <Group gap="sm">
            <span className="seen-mark">
              <Icon name="check" size={20} />
            </span>
            <Text fw={650} component="span">
              First request received
            </Text>
            <DecisionBadge decision={first.decision} note={first.note} />
            <ActionName type={first.action_type} />
            <Anchor href={hrefOf('traffic', { agent, record: first.id })}>Show decision</Anchor>
          </Group>
        )}
      </div>
    </Panel>
  )
}
