import { Anchor, Button, Checkbox, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { AgentList, AgentView } from '../../../../core/wire/agents.ts'
import { call } from '../../api/client.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import type { Column } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import type { BulkAction } from '../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../components/list/searchable-table.tsx'
import { SourceBadge } from '../../components/manifest/source-badge.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { STATUS_LABELS } from '../../labels/status-labels.ts'
import { type Resource, useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { AgentDetail } from './agent-detail.tsx'
import { AgentRowActions } from './agent-row-actions.tsx'
import { AGENT_TONES } from './agent-tones.ts'
import { NewAgent } from './new-agent.tsx'
import { RunningInstances } from './running-instances.tsx'

/** A new key, and the name of the agent to which it belongs. */
export type FreshKey = { readonly agent: string; readonly key: string }

/** Shows the list of agents with their row actions, or the agent that the URL names. */
export function Page() {
  const { may } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  const agents = useResource('GET /api/dashboard/agents', {}, { on: ['config'], everyMs: 30_000 })
  const [{ agent: chosen }] = useQueryState()
  const mayAct = may('agents/update')
  const onKey = (key: FreshKey) => {
    setFresh(key)
    agents.reload()
  }
  if (chosen !== undefined) return <Chosen name={chosen} agents={agents} />
  return (
    <>
      <PageHead
        title="Agents"
        about="Programs that act on behalf of users. Each agent has a key, a gateway, and a status."
      >
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            New agent
          </Button>
        ) : null}
      </PageHead>
      <Stack gap="md">
        {fresh === null ? null : (
          <SecretOnce
            title={`The key of ${fresh.agent}, shown only once`}
            about="The key cannot be shown again, only replaced. The agent uses the key as its proxy password or as the bearer token of the API."
            label="key"
            secret={fresh.key}
          />
        )}
        <Loaded of={agents}>
          {({ agents: rows }) =>
            rows.length === 0 ? (
              <EmptyState icon="agents" title="No agents">
                Each agent has its own name and key, so that its requests can be identified, limited and
                denied. "New agent" creates both.
              </EmptyState>
            ) : (
              <AgentTable rows={rows} onKey={onKey} onDone={agents.reload} />
            )
          }
        </Loaded>
      </Stack>
      {mayAct ? <NewAgent isOpen={isOpen} onClose={close} onKey={onKey} /> : null}
    </>
  )
}

function AgentTable(props: {
  readonly rows: readonly AgentView[]
  readonly onKey: (key: FreshKey) => void
  readonly onDone: () => void
}) {
  const { rows, onKey, onDone } = props
  const { may } = useSession()
  const [query, change] = useQueryState()
  const mayAct = may('agents/update')
  const revoked = rows.filter(({ status }) => status === 'revoked')
  const isWhole = query['revoked'] === 'shown'
  return (
    <>
      <SearchableTable
        rows={isWhole ? rows : rows.filter(({ status }) => status !== 'revoked')}
        keyOf={({ agent_id }) => agent_id}
        nameOf={({ name }) => name}
        textsOf={({ name, runtime, environment, gateway, status }) => [
          ...[name, runtime, environment, gateway, status],
        ]}
        noun="agents"
        columns={columnsFor(rows)}
        actions={mayAct ? (agent) => <AgentRowActions {...{ agent, onKey, onDone }} /> : undefined}
        bulk={mayAct ? BULK_ACTIONS : []}
        onDone={onDone}
      />
      {revoked.length === 0 ? null : (
        <Checkbox
          label={`Show revoked agents (${revoked.length})`}
          checked={isWhole}
          onChange={(event) => change({ revoked: event.currentTarget.checked ? 'shown' : null })}
        />
      )}
    </>
  )
}

const RUNNING: Column<AgentView> = {
  head: 'Running',
  cell: ({ running }) => <RunningInstances running={running} />,
}

/** Columns of the list. Outside of a cluster no agent has pods, and the list has no column for them. */
const columnsFor = (rows: readonly AgentView[]): ReadonlyArray<Column<AgentView>> => [
  { head: 'Agent', cell: (agent) => <Name agent={agent} /> },
  {
    head: 'Status',
    isWhole: true,
    cell: ({ status }) => <ToneBadge tone={AGENT_TONES[status]}>{STATUS_LABELS[status]}</ToneBadge>,
  },
  { head: 'Gateway', isWhole: true, cell: ({ gateway }) => gateway ?? <span className="dim">none</span> },
  ...(rows.some(({ running }) => running !== undefined) ? [RUNNING] : []),
  { head: 'Last seen', isWhole: true, cell: ({ last_seen_at }) => <AgoText at={last_seen_at} /> },
  { head: 'Source', isWhole: true, cell: (agent) => <SourceBadge row={agent} /> },
]

const patch = (action: 'suspend' | 'activate' | 'revoke') => async (agent: AgentView) =>
  call('PATCH /api/dashboard/agents', { body: { agent_id: agent.agent_id, action } })

const BULK_ACTIONS: ReadonlyArray<BulkAction<AgentView>> = [
  {
    label: 'Suspend',
    done: 'suspended',
    run: patch('suspend'),
    about: 'Gateways refuse the requests of these agents until they are activated again:',
    appliesTo: ({ status }) => status === 'active',
  },
  {
    label: 'Activate',
    done: 'activated',
    run: patch('activate'),
    about: 'Gateways accept requests of these agents again:',
    appliesTo: ({ status }) => status === 'suspended',
  },
  {
    label: 'Revoke',
    done: 'revoked',
    run: patch('revoke'),
    about: 'Gateways refuse the requests of these agents permanently:',
    appliesTo: ({ status }) => status !== 'revoked',
  },
]

function Chosen({ name, agents }: { readonly name: string; readonly agents: Resource<AgentList> }) {
  return (
    <Loaded of={agents}>
      {({ agents: rows }) => {
        // A new agent may have the same name as a revoked agent, so an agent that is not revoked takes precedence.
        const agent =
          rows.find((row) => row.name === name && row.status !== 'revoked') ??
          rows.find((row) => row.name === name)
        return agent === undefined ? (
          <>
            <PageHead title="Agents" />
            <EmptyState icon="agents" title="No such agent">
              No agent has the name {name}. It may have been deleted after its pods were gone.{' '}
              <Anchor inherit underline="always" href={hrefOf('agents')}>
                All agents
              </Anchor>
            </EmptyState>
          </>
        ) : (
          <AgentDetail agent={agent} />
        )
      }}
    </Loaded>
  )
}

function Name({ agent }: { readonly agent: AgentView }) {
  const { name, runtime, environment, api_key_prefix: prefix, status } = agent
  return (
    <>
      <Text fw={600} component="div" className="name">
        <Anchor inherit href={hrefOf('agents', { agent: name })}>
          <UntrustedText text={name} />
        </Anchor>
      </Text>
      <Text size="sm" c="dimmed" component="div">
        <UntrustedText text={[environment, runtime].filter(Boolean).join(', ')} />,{' '}
        {prefix === null ? 'no key' : <span className="mono">{prefix}…</span>}
      </Text>
      {status === 'revoked' ? null : (
        <Text size="sm">
          <Anchor inherit underline="always" href={hrefOf('permissions', { agent: name })}>
            Its permissions
          </Anchor>
          {', '}
          <Anchor inherit underline="always" href={hrefOf('traffic', { agent: name })}>
            its traffic
          </Anchor>
        </Text>
      )}
    </>
  )
}
