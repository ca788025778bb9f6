import { Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core'
import type { GatewayState } from '../../../../core/wire/overview.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { SourceText } from '../../components/manifest/source-badge.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { LEVEL_LABELS } from '../../labels/level-labels.ts'
import { configurationOf, stateOf } from './gateway-state.ts'

/** Shows the state that each gateway reported. */
export function GatewayList({ gateways }: { readonly gateways: readonly GatewayState[] }) {
  return (
    <Panel title="Gateways">
      {gateways.length === 0 ? (
        <EmptyState icon="shield" title="No gateways">
          A gateway is the proxy between agents and providers. Create one with "Get started", or apply a
          Gateway manifest.
        </EmptyState>
      ) : (
        <SimpleGrid cols={{ base: 1, md: gateways.length === 1 ? 1 : 2 }}>
          {gateways.map((gateway) => (
            <GatewayCard key={gateway.id} gateway={gateway} />
          ))}
        </SimpleGrid>
      )}
    </Panel>
  )
}

function GatewayCard({ gateway }: { readonly gateway: GatewayState }) {
  const level = LEVEL_LABELS[gateway.level]
  return (
    <Paper withBorder p="sm" className="inset">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Text fw={650} component="h3" className="ellipsis">
            {gateway.name}
          </Text>
          <StateBadge gateway={gateway} />
        </Group>
        <FactList
          facts={[
            [
              'Enforcement',
              <span key="level" title={level.description}>
                {level.title}
              </span>,
            ],
            ['Configuration', configurationOf(gateway)],
            ['Last seen', <AgoText key="seen" at={gateway.last_seen_at} />],
            ['Address', `${gateway.host}:${gateway.port}`],
            [
              'Processes',
              gateway.processes === 0
                ? 'none'
                : `${gateway.processes}, for ${gateway.agents} ${gateway.agents === 1 ? 'agent' : 'agents'}`,
            ],
            ['Source', <SourceText key="source" row={gateway} />],
          ]}
        />
        {gateway.warnings.map((warning) => (
          <Group key={warning} gap="xs" align="flex-start" wrap="nowrap">
            <Icon name="warning" />
            <Text size="sm" className="min-0">
              <UntrustedText text={warning} />
            </Text>
          </Group>
        ))}
      </Stack>
    </Paper>
  )
}

function StateBadge({ gateway }: { readonly gateway: GatewayState }) {
  const { text, tone } = stateOf(gateway)
  return <ToneBadge tone={tone}>{text}</ToneBadge>
}
