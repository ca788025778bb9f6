import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { type Denial, type DenialGroup, groupDenials } from './denial-groups.ts'

/**
 * Lists the most frequent denials by agent. The usual cause is a missing permission, or an agent that repeats refused
 * requests.
 */
export function DenialList({ denials }: { readonly denials: ActivityReply['denials'] }) {
  return (
    <Panel title="Most frequent denials">
      {denials.length === 0 ? (
        <EmptyState icon="shield" title="No denials">
          Denied requests appear here with the reason, the most frequent first.
        </EmptyState>
      ) : (
        <Stack gap={0} component="ul" className="plain-list">
          {groupDenials(denials).map((group) => (
            <AgentDenials key={group.agent ?? ''} group={group} />
          ))}
        </Stack>
      )}
    </Panel>
  )
}

function AgentDenials({ group: { agent, count, lastAt, denials, others } }: { readonly group: DenialGroup }) {
  return (
    <li className="list-line">
      <Group wrap="nowrap" justify="space-between" gap="xs">
        <Anchor href={hrefOf('traffic', { decision: 'DENY', agent })} className="min-0">
          <UntrustedText text={agent ?? 'unknown agent'} />
        </Anchor>
        <span className="list-number">
          <Text size="xs" c="dimmed" component="span" mr="xs">
            <AgoText at={lastAt} />
          </Text>
          <strong>{count.toLocaleString()}</strong>
        </span>
      </Group>
      <ul className="plain-list denials">
        {denials.map((denial) => (
          <Line key={JSON.stringify(denial)} denial={denial} />
        ))}
      </ul>
      {others === 0 ? null : (
        <Text size="xs" c="dimmed" mt={4} pl={14}>
          and {others.toLocaleString()} others
        </Text>
      )}
    </li>
  )
}

function Line({ denial }: { readonly denial: Denial }) {
  const { agent, action_type, host, reason, count } = denial
  const filter = { decision: 'DENY', agent, action_type, q: action_type === null ? host : null }
  return (
    <Group component="li" wrap="nowrap" justify="space-between" align="flex-start" gap="xs">
      <div className="min-0">
        <Anchor href={hrefOf('traffic', filter)} size="sm">
          {action_type === null ? (
            <UntrustedText text={host ?? 'no host'} />
          ) : (
            <ActionName type={action_type} />
          )}
        </Anchor>
        {reason === null ? null : (
          <Text size="xs" c="dimmed" component="div">
            <UntrustedText text={DENIAL_LABELS[reason] ?? reason.replaceAll('_', ' ')} />
          </Text>
        )}
      </div>
      <Text size="sm" className="list-number">
        {count.toLocaleString()}
      </Text>
    </Group>
  )
}
