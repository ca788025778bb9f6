import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { RiskBadge } from '../../components/decision/risk-badge.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { TimeLeft } from '../../components/text/time-left.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'

const SHOWN = 3
/** Page size of the query for pending approvals. The inbox uses the same query, so that both share one request. */
const NEWEST = 200

/** Lists the pending approvals that expire first, with links to the inbox. */
export function PendingPreview() {
  const pending = useResource(
    'GET /api/dashboard/proxy-approvals',
    { query: { status: 'pending', limit: NEWEST } },
    { on: ['approvals'] },
  )
  return (
    <Panel
      title="Pending approvals"
      aside={
        <Anchor size="sm" href={hrefOf('approvals')}>
          Open the inbox
        </Anchor>
      }
    >
      <Loaded of={pending}>
        {({ approvals, total }) => (
          <Stack gap={0} component="ul" className="plain-list">
            {[...approvals]
              .sort(leastTimeLeft)
              .slice(0, SHOWN)
              .map((card) => (
                <Group key={card.id} component="li" justify="space-between" className="list-line">
                  <div className="min-0">
                    <Anchor href={hrefOf('approvals', { id: card.id })}>
                      <ActionName type={card.action_type} />
                    </Anchor>
                    <Text size="sm" c="dimmed" component="div">
                      <UntrustedText text={card.agent} />
                      {card.target === null ? null : ' on '}
                      {card.target === null ? null : <UntrustedText text={card.target} />}
                    </Text>
                  </div>
                  <Group gap="xs">
                    <RiskBadge score={card.risk_score} />
                    <TimeLeft createdAt={card.created_at} expiresAt={card.expires_at} />
                  </Group>
                </Group>
              ))}
            {total > SHOWN ? (
              <Text component="li" size="sm" c="dimmed" className="list-line">
                and {total - SHOWN} more
              </Text>
            ) : null}
          </Stack>
        )}
      </Loaded>
    </Panel>
  )
}

function leastTimeLeft(a: ApprovalCard, b: ApprovalCard): number {
  return Date.parse(a.expires_at) - Date.parse(b.expires_at)
}
