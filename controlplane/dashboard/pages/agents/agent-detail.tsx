import { Anchor, Group, Stack, Text } from '@mantine/core'
import type { AgentView } from '../../../../core/wire/agents.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { SourceBadge } from '../../components/manifest/source-badge.tsx'
import { TimeLeft } from '../../components/text/time-left.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { STATUS_LABELS } from '../../labels/status-labels.ts'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { navigate } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { TrafficList } from '../traffic/traffic-list.tsx'
import { AGENT_TONES } from './agent-tones.ts'
import { RunningInstances } from './running-instances.tsx'

const NEWEST = 10
const PENDING = { query: { status: 'pending', limit: 200 } } as const

/** Shows one agent: state, pending approvals, newest requests, and effective permissions by connector. */
export function AgentDetail({ agent }: { readonly agent: AgentView }) {
  const { may } = useSession()
  const { name } = agent
  return (
    <>
      <PageHead
        title={name}
        about="An agent: its state, pending approvals, newest requests, and permissions."
      >
        <Anchor href={hrefOf('agents')} size="sm">
          All agents
        </Anchor>
      </PageHead>
      <Stack gap="md">
        <Panel title="State">
          <FactList
            facts={[
              [
                'Status',
                <ToneBadge key="status" tone={AGENT_TONES[agent.status]}>
                  {STATUS_LABELS[agent.status]}
                </ToneBadge>,
              ],
              ['Environment', agent.environment],
              ['Gateway', agent.gateway ?? 'none'],
              ['Runtime', agent.runtime === '' ? null : <UntrustedText key="runtime" text={agent.runtime} />],
              [
                'Key',
                agent.api_key_prefix === null ? 'none' : <code key="key">{agent.api_key_prefix}…</code>,
              ],
              ['Last seen', <AgoText key="seen" at={agent.last_seen_at} />],
              ['Source', <SourceBadge key="source" row={agent} />],
              ['Running', <RunningInstances key="running" running={agent.running} />],
            ]}
          />
        </Panel>
        {may('approvals/get') ? <Pending agent={name} /> : null}
        {may('records/get') ? <Newest agent={name} /> : null}
        {may('explanations/get') && may('connectors/get') ? <May agent={name} /> : null}
      </Stack>
    </>
  )
}

function Pending({ agent }: { readonly agent: string }) {
  const approvals = useResource('GET /api/dashboard/proxy-approvals', PENDING, { on: ['approvals'] })
  return (
    <Panel title="Pending approvals">
      <Loaded of={approvals}>
        {({ approvals: all }) => {
          const own = all.filter((card) => card.agent === agent)
          if (own.length === 0) return <Text size="sm">This agent has no pending approvals.</Text>
          return (
            <Stack gap={0} component="ul" className="plain-list">
              {own.map(({ id, action_type: type, target, created_at: createdAt, expires_at: expiresAt }) => (
                <Group key={id} component="li" justify="space-between" gap="xs" className="list-line">
                  <Text size="sm" component="div" className="min-0">
                    <Anchor inherit href={hrefOf('approvals', { id })}>
                      <ActionName type={type} />
                    </Anchor>{' '}
                    <UntrustedText text={target ?? ''} />
                  </Text>
                  <TimeLeft createdAt={createdAt} expiresAt={expiresAt} />
                </Group>
              ))}
            </Stack>
          )
        }}
      </Loaded>
    </Panel>
  )
}

function Newest({ agent }: { readonly agent: string }) {
  const traffic = useResource(
    'GET /api/dashboard/traffic',
    { query: { agent, limit: NEWEST } },
    { on: ['traffic'], everyMs: 10_000 },
  )
  return (
    <Panel
      title="Newest requests"
      aside={
        <Anchor size="sm" href={hrefOf('traffic', { agent })}>
          All requests
        </Anchor>
      }
    >
      <Loaded of={traffic}>
        {({ traffic: records }) =>
          records.length === 0 ? (
            <EmptyState icon="traffic" title="No requests">
              The agent has sent no request in the last seven days.
            </EmptyState>
          ) : (
            <TrafficList
              isOfOneAgent
              records={records}
              onOpen={(record) => navigate('traffic', { agent, record })}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

function May({ agent }: { readonly agent: string }) {
  const connectors = useResource('GET /api/dashboard/connectors', {}, { on: ['config'] })
  return (
    <Panel title="What it may do">
      <Loaded of={connectors}>
        {({ connectors: rows }) => {
          const types = [...new Set(rows.map(({ type }) => type))].toSorted()
          if (types.length === 0) return <Text size="sm">There are no connectors.</Text>
          return (
            <Group gap="sm">
              {types.map((type) => (
                <Anchor key={type} size="sm" href={hrefOf('permissions', { agent, type })}>
                  {CONNECTOR_LABELS[type]?.title ?? type}
                </Anchor>
              ))}
            </Group>
          )
        }}
      </Loaded>
    </Panel>
  )
}
