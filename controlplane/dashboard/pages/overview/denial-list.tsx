import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'
import { hrefOf } from '../../routing/page-location.ts'

type Denial = ActivityReply['denials'][number]

/** Lists the most frequent denials. The usual cause is a missing permission, or an agent that repeats refused requests. */
export function DenialList({ denials }: { readonly denials: readonly Denial[] }) {
  return (
    <Panel title="Most frequent denials">
      {denials.length === 0 ? (
        <EmptyState icon="shield" title="No denials">
          Denied requests appear here with the reason, the most frequent first.
        </EmptyState>
      ) : (
        <Stack gap={0} component="ul" className="plain-list">
          {denials.map((denial) => (
            <Line key={JSON.stringify(denial)} denial={denial} />
          ))}
        </Stack>
      )}
    </Panel>
  )
}

function Line({ denial }: { readonly denial: Denial }) {
  const { agent, action_type, host, reason, count, last_at } = denial
  const filter = { decision: 'DENY', agent, action_type, q: action_type === null ? host : null }
  return (
    <Group component="li" wrap="nowrap" justify="space-between" className="list-line">
      <div className="min-0">
        <Anchor href={hrefOf('traffic', filter)} className="min-0">
          {action_type === null ? (
            <UntrustedText text={host ?? 'no host'} />
          ) : (
            <ActionName type={action_type} />
          )}
        </Anchor>
        <Text size="xs" c="dimmed" component="div" className="min-0">
          <UntrustedText text={agent ?? 'unknown agent'} />
          {reason === null ? '' : ': '}
          {reason === null ? null : (
            <UntrustedText text={DENIAL_LABELS[reason] ?? reason.replaceAll('_', ' ')} />
          )}
        </Text>
      </div>
      <div className="list-number">
        <strong>{count}</strong>
        <Text size="xs" c="dimmed" component="div">
          <AgoText at={last_at} />
        </Text>
      </div>
    </Group>
  )
}
