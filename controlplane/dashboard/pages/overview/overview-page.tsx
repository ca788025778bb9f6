import { Alert, SegmentedControl, SimpleGrid, Stack } from '@mantine/core'
import { useEffect } from 'react'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { preloadDrawing } from '../../components/chart/time-chart.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Resource, useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { AgentActivity } from './agent-activity.tsx'
import { DecisionChart } from './decision-chart.tsx'
import { DenialList } from './denial-list.tsx'
import { FirstSteps } from './first-steps.tsx'
import { GatewayList } from './gateway-list.tsx'
import { KeyFigures } from './key-figures.tsx'
import { LatencyChart } from './latency-chart.tsx'
import { PendingPreview } from './pending-preview.tsx'

const RANGES = [
  { value: '3600', label: '1 h' },
  { value: '86400', label: '24 h' },
  { value: '604800', label: '7 d' },
] as const

/** Renders the start page: gateways, pending approvals, traffic and denials. */
export function Page() {
  const { may } = useSession()
  const [query, change] = useQueryState()
  const range = RANGES.find(({ value }) => value === query['range'])?.value ?? '3600'
  const overview = useResource(
    'GET /api/dashboard/overview',
    {},
    {
      on: ['gateways', 'approvals', 'kill', 'config'],
      everyMs: 10_000,
    },
  )
  const activity = useResource(
    'GET /api/dashboard/activity',
    { query: { seconds: Number(range) } },
    { on: ['traffic'], everyMs: 30_000 },
  )
  useEffect(preloadDrawing, [])
  const isUsed = overview.data?.has_traffic === true
  return (
    <>
      <PageHead title="Overview" about="Gateways, pending approvals, traffic and denials.">
        <SegmentedControl
          aria-label="Period"
          value={range}
          onChange={(value) => change({ range: value === '3600' ? null : value })}
          data={RANGES.map(({ value, label }) => ({ value, label }))}
        />
      </PageHead>
      <Stack gap="md">
        <Loaded of={overview}>
          {(data) => (
            <>
              <Warnings warnings={data.warnings} />
              <KeyFigures overview={data} activity={activity.data} />
              {data.has_traffic ? null : <FirstSteps />}
              {may('approvals/get') && data.pending_approvals > 0 ? <PendingPreview /> : null}
            </>
          )}
        </Loaded>
        {isUsed ? <Charts activity={activity} /> : null}
        {overview.data === null ? null : <GatewayList gateways={overview.data.gateways} />}
        {isUsed && activity.data !== null ? (
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            <DenialList denials={activity.data.denials} />
            <AgentActivity agents={activity.data.agents} />
          </SimpleGrid>
        ) : null}
      </Stack>
    </>
  )
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  return warnings.map((warning) => (
    <Alert
      key={warning}
      color="yellow"
      variant="outline"
      icon={<Icon name="warning" />}
      role="status"
      className="note"
    >
      {warning}
    </Alert>
  ))
}

function Charts({ activity }: { readonly activity: Resource<ActivityReply> }) {
  return (
    <Loaded of={activity}>
      {(data) => (
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <Panel title="Requests by decision">
            <DecisionChart activity={data} />
          </Panel>
          <Panel title="Latency">
            <LatencyChart activity={data} />
          </Panel>
        </SimpleGrid>
      )}
    </Loaded>
  )
}
