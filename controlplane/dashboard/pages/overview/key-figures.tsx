import { Anchor, Paper, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ActivityReply, OverviewReply } from '../../../../core/wire/overview.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'

type Total = { readonly all: number; readonly denied: number; readonly wouldBlock: number }

/** Shows the key figures of the selected period, such as requests and denials. */
export function KeyFigures(props: {
  readonly overview: OverviewReply
  readonly activity: ActivityReply | null
}) {
  const { overview, activity } = props
  const { may } = useSession()
  const live = overview.gateways.filter((gateway) => gateway.is_live).length
  const total = activity === null ? null : totalOf(activity)
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      <Figure
        label="Pending approvals"
        value={overview.pending_approvals}
        isLoud={overview.pending_approvals > 0}
        href={may('approvals/get') ? hrefOf('approvals') : undefined}
      />
      <Figure label="Requests" value={total?.all ?? '–'} href={hrefOf('traffic')} />
      <Figure
        label="Denied"
        value={total?.denied ?? '–'}
        href={hrefOf('traffic', { decision: 'DENY' })}
        note={
          total !== null && total.wouldBlock > 0
            ? `${total.wouldBlock} more would be denied or held with full enforcement`
            : undefined
        }
      />
      <Figure
        label="Live gateways"
        value={`${live} of ${overview.gateways.length}`}
        isLoud={live < overview.gateways.length}
        note={`${overview.agents.active} active ${overview.agents.active === 1 ? 'agent' : 'agents'}`}
      />
    </SimpleGrid>
  )
}

function Figure(props: {
  readonly label: string
  readonly value: ReactNode
  readonly href?: string | undefined
  readonly note?: string | undefined
  readonly isLoud?: boolean
}) {
  const { label, value, href, note, isLoud = false } = props
  return (
    <Paper withBorder p="md" className={isLoud ? 'figure figure-loud' : 'figure'}>
      <Text size="sm" c="dimmed">
        {href === undefined ? label : <Anchor href={href}>{label}</Anchor>}
      </Text>
      <Text className="figure-value" component="p">
        {value}
      </Text>
      {note === undefined ? null : (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  )
}

function totalOf({ buckets }: ActivityReply): Total {
  return buckets.reduce<Total>(
    (sum, { allow, hold, deny, would_block }) => ({
      all: sum.all + allow + hold + deny,
      denied: sum.denied + deny,
      wouldBlock: sum.wouldBlock + would_block,
    }),
    { all: 0, denied: 0, wouldBlock: 0 },
  )
}
