import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { ActivityReply } from '../../../../core/wire/dashboard.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'
import { hrefOf } from '../../routing/page-location.ts'

type Denial = ActivityReply['denials'][number]

/** What is refused most often: a rule that is missing, or an agent that tries. */
export function DenialList({ denials }: { readonly denials: readonly Denial[] }) {
  return (
    <Panel title="Loudest denials">
      {denials.length === 0 ? (
        <EmptyState icon="shield" title="Nothing was denied">
          Refused requests appear here, the most frequent first, with the rule that refused them.
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
